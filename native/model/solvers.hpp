// The weighted ridge estimate of a GLM with a symmetric link, and solvers for it.
//
// For rows z_s with mass W_s >= 0 and wins O_s in [0, W_s], the estimate minimizes the strongly convex
//
//     F(theta) = 1/2 sum_k ridge_k theta_k^2 + sum_s [ W_s M(z_s . theta) - O_s z_s . theta ],
//     gradient   ridge_k theta_k + sum_s (W_s mu(z_s . theta) - O_s) z_s,
//     Hessian    diag(ridge) + sum_s W_s mu'(z_s . theta) z_s z_s'.
//
// The root of the gradient solves the paper's estimating equation with W = sum of w^2 and O = sum of w^2 o over the
// duels that share z. It maximizes the likelihood only for the logistic link.
#pragma once

#include "model/links.hpp"
#include "numerics/buffer.hpp"
#include "numerics/random.hpp"

namespace duelist {

enum class SolverStatus : int { converged, out_of_iterations, stalled };

// The data and the penalty. Rows of data are the columns of z, `stride` apart; n is a multiple of 8, padded by rows
// without mass.
struct GlmProblem {
    const double* z;
    i64 stride, dim;
    const double* mass;
    const double* wins;
    i64 n;
    Ridge ridge;
    Link link;

    double ridge_of(i64 k) const { return ridge.scale ? ridge.common * ridge.scale[k] : ridge.common; }
    double largest_ridge() const;
    double objective(const double* theta, double* margins) const;
    void gradient(const double* theta, double* margins, double* out) const;
    void residuals(const double* margins, double* residual, double* slopes) const;
    double total_mass() const;
};

struct SolverResult {
    SolverStatus status;
    i64 iterations;
};

// Buffers of a solver.
struct SolverWorkspace {
    AlignedDoubles direction, step, trial, shift;                             // dim each
    AlignedDoubles margins, residual, slopes, moves, second_order, weighted;  // one number per row

    void fit(i64 dim, i64 rows) {
        for (AlignedDoubles* numbers : {&direction, &step, &trial, &shift}) numbers->fit(dim);
        for (AlignedDoubles* numbers : {&margins, &residual, &slopes, &moves, &second_order, &weighted})
            numbers->fit(rows);
    }
};

// -- solvers: theta is the start on entry and the estimate on return
SolverResult newton(const GlmProblem& problem, double* theta, double tolerance, i64 max_iterations);
SolverResult accelerated_gradient(const GlmProblem& problem, double* theta, double tolerance, i64 max_iterations);
SolverResult variance_reduced(const GlmProblem& problem, double* theta, double tolerance, i64 max_iterations,
                              Sfc64 random);

// The largest of 1, 1/2, 1/4, ... that satisfies Armijo's condition; 0 if none does.
double line_search(const GlmProblem& problem, const double* theta, const double* step, double decrement);

// Whether a full Newton step provably decreases F, given how far it moves the margins.
bool full_step_is_safe(Link link, const double* margins, const double* moves, i64 n);

// An estimate of the largest eigenvalue of F's Hessian. It may be too low if the start vector is nearly orthogonal to
// the leading eigenvector; the caller must detect steps that are too long.
double smoothness(const GlmProblem& problem);

// sum w^2 (o - mu(z . theta))^2 with o in {0, 1}; a tie counts as half a win and half a loss.
double residual_sum(const GlmProblem& problem, const double* theta, double* margins);

}  // namespace duelist
