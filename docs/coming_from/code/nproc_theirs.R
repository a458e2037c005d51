library(nproc)

set.seed(1)
n <- 1000
x <- matrix(rnorm(n * 2), n, 2)
y <- rbinom(n, 1, 1 / (1 + exp(-(1 + 3 * x[, 1]))))
fit <- npc(x, y, method = "logistic", alpha = 0.05, delta = 0.05)

xnew <- matrix(rnorm(100000 * 2), 100000, 2)
ynew <- rbinom(100000, 1, 1 / (1 + exp(-(1 + 3 * xnew[, 1]))))
called <- predict(fit, xnew)$pred.label
cat("false alarms", round(mean(called[ynew == 0]), 3), "found",
    round(mean(called[ynew == 1]), 3), "\n")
