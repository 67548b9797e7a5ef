"""Puts compiled code into a wheel, the code of ``tunamh compile --into FOLDER``: ``TUNAMH_COMPILED=FOLDER ... build``.

Such a wheel is for one version of Python and one kind of machine, and says so by its tag (``TUNAMH_PLATFORM`` names the
platform). Without the variable the wheel is a plain one, for all.
"""

import os
import sys
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledCode(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        folder = os.environ.get("TUNAMH_COMPILED")
        if not folder:
            return
        platform = os.environ.get("TUNAMH_PLATFORM") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"][folder] = "tunamh/_compiled"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp{sys.version_info.major}{sys.version_info.minor}-none-{platform}"
