"""Where rows come from and how they are drawn: sources of rows, passes over them, packed rows, supplies of rows."""
