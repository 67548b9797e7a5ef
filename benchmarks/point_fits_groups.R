# The point fit of a regression with random intercepts, for group_fits.py:
#
#     Rscript point_fits_groups.R TABLE.csv FAMILY PEER CAP RESULT.json
#
# TABLE has the columns y, x1, x2, ... (an intercept is one of them) and the factors' codes g1, g2, .... PEER is lme4
# (glmer with nAGQ = 1; lmer for Gaussian errors), glmmTMB or ordinal (clmm). Seconds are those of the processor, user
# and system, of the fit alone. The fit ends after CAP of them.

arguments <- commandArgs(trailingOnly = TRUE)
table <- read.csv(arguments[1])
family <- arguments[2]
peer <- arguments[3]
cap <- as.numeric(arguments[4])

names_like <- function(letter) grep(paste0("^", letter, "[0-9]+$"), names(table), value = TRUE)
x <- names_like("x")
g <- names_like("g")
for (name in g) table[[name]] <- factor(table[[name]])
left <- "y ~"
if (peer == "ordinal") {
  table$y <- factor(table$y, ordered = TRUE) # its thresholds are the intercepts
} else {
  left <- "y ~ 0 +"
}
formula <- as.formula(paste(left, paste(c(x, paste0("(1 | ", g, ")")), collapse = " + ")))
known <- list(logistic = binomial(), poisson = poisson(), gaussian = gaussian())

fits <- list(
  lme4 = function() {
    if (family == "gaussian") lme4::lmer(formula, table, REML = FALSE)
    else lme4::glmer(formula, table, family = known[[family]], nAGQ = 1)
  },
  glmmTMB = function() glmmTMB::glmmTMB(formula, table, family = known[[family]]),
  ordinal = function() ordinal::clmm(formula, table)
)
estimates <- list(
  lme4 = function(fit) list(
    coefficients = unname(lme4::fixef(fit)),
    scales = unname(sapply(lme4::VarCorr(fit)[g], function(v) attr(v, "stddev")))
  ),
  glmmTMB = function(fit) list(
    coefficients = unname(glmmTMB::fixef(fit)$cond),
    scales = unname(sapply(glmmTMB::VarCorr(fit)$cond[g], function(v) attr(v, "stddev")))
  ),
  ordinal = function(fit) list(
    coefficients = unname(fit$beta),
    scales = unname(sapply(ordinal::VarCorr(fit)[g], function(v) attr(v, "stddev")))
  )
)

warned <- character(0)
fitted <- function() {
  suppressMessages(loadNamespace(peer))
  before <- proc.time()
  setTimeLimit(cpu = cap)
  fit <- withCallingHandlers(fits[[peer]](), warning = function(w) {
    warned <<- c(warned, conditionMessage(w))
    invokeRestart("muffleWarning")
  })
  seconds <- sum((proc.time() - before)[1:2])
  setTimeLimit()
  c(list(status = "ok", seconds = seconds, version = as.character(packageVersion(peer))), estimates[[peer]](fit))
}
found <- tryCatch(fitted(), error = function(e) {
  setTimeLimit()
  said <- conditionMessage(e)
  if (grepl("CPU time limit", said)) said <- sprintf("more than %g s", cap)
  if (grepl("no package", said)) said <- paste(peer, "is not installed")
  list(status = said)
})
found$warnings <- I(substr(unique(warned), 1, 200))
jsonlite::write_json(found, arguments[5], auto_unbox = TRUE, digits = 10, null = "list")
