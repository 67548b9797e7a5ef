# One of lme4's data sets as a table of numbers, for group_fits.py:
#
#     Rscript lme4_data.R NAME TABLE.csv
#
# Columns: y; x1, x2, ... (the columns of the model matrix without its intercept); the factors' codes g1, g2, ...

suppressMessages(library(lme4))
arguments <- commandArgs(trailingOnly = TRUE)
plain <- function(factor) factor(factor, ordered = FALSE)

tables <- list(
  insteval = function() list(
    y = InstEval$y,
    X = model.matrix(~ service + plain(studage) + plain(lectage), InstEval),
    groups = list(InstEval$s, InstEval$d)
  ),
  verbagg = function() list(
    y = as.integer(VerbAgg$r2 == "Y"),
    X = model.matrix(~ Anger + Gender + btype + situ, VerbAgg),
    groups = list(VerbAgg$id, VerbAgg$item)
  ),
  grouseticks = function() list(
    y = grouseticks$TICKS,
    X = model.matrix(~ YEAR + cHEIGHT, grouseticks),
    groups = list(grouseticks$BROOD, grouseticks$INDEX, grouseticks$LOCATION)
  )
)

found <- tables[[arguments[1]]]()
X <- found$X[, -1, drop = FALSE]
colnames(X) <- paste0("x", seq_len(ncol(X)))
codes <- as.data.frame(lapply(found$groups, function(factor) as.integer(droplevels(factor)) - 1L))
names(codes) <- paste0("g", seq_along(found$groups))
write.csv(cbind(y = as.numeric(found$y), X, codes), arguments[2], row.names = FALSE)
