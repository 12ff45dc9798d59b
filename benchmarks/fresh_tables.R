# Writes tables of R packages as CSV files, for benchmarks/fresh.py:
#
#     apt-get install r-base-core r-cran-modeldata r-cran-caret r-cran-kernlab r-cran-aer \
#       r-cran-th.data r-cran-vcdextra r-cran-randomforest r-cran-mass r-cran-survival
#     Rscript benchmarks/fresh_tables.R FOLDER [library, if it is not one of R's own]
said <- commandArgs(trailingOnly = TRUE)
folder <- said[1]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
libraries <- c(said[-1], .libPaths())
packages <- c("modeldata", "caret", "kernlab", "AER", "TH.data", "vcdExtra", "randomForest", "MASS", "survival")
for (package in packages) {
  home <- file.path(libraries, package, "data")
  home <- home[dir.exists(home)][1]
  if (is.na(home)) stop(paste("the package is not installed:", package))
  held <- new.env()
  if (file.exists(file.path(home, "Rdata.rdb"))) {
    lazyLoad(file.path(home, "Rdata"), envir = held)
  } else {
    for (file in list.files(home, "\\.(rda|RData)$", full.names = TRUE)) load(file, envir = held)
  }
  for (name in ls(held)) {
    table <- get(name, envir = held)
    if (!is.data.frame(table) || nrow(table) < 150) next
    plain <- sapply(table, function(column) is.atomic(column) && is.null(dim(column)))
    path <- file.path(folder, paste0(package, "_", name, ".csv"))
    write.csv(as.data.frame(table)[, plain, drop = FALSE], path, row.names = FALSE)
  }
}
