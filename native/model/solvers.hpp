// The weighted ridge estimate of a symmetric-link model, and the ways to it.
//
// For rows z_s with mass W_s >= 0 and wins O_s in [0, W_s], the estimate minimises the strongly convex
//
//     F(theta) = 1/2 sum_k ridge_k theta_k^2 + sum_s [ W_s M(z_s . theta) - O_s z_s . theta ],
//
// with gradient  ridge_k theta_k + sum_s (W_s mu(z_s . theta) - O_s) z_s
// and Hessian    diag(ridge) + sum_s W_s mu'(z_s . theta) z_s z_s'.
//
// Its root is the paper's estimating equation with W = sum of w^2 and O = sum of w^2 o over the duels that share z. Only for
// the logistic link is it the maximum of the likelihood.
#pragma once

#include "model/links.hpp"
#include "numerics/buffer.hpp"
#include "numerics/random.hpp"

namespace duelist {

enum class SolverStatus : int { converged, out_of_iterations, stalled };

// What is minimised; rows are columns of z, `stride` apart, and n is a multiple of 8: rows that pad it have no mass.
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

// Room that a solver works in.
struct SolverWorkspace {
    AlignedDoubles direction, step, trial, shift;                             // dim each
    AlignedDoubles margins, residual, slopes, moves, second_order, weighted;  // a number a row

    void fit(i64 dim, i64 rows) {
        for (AlignedDoubles* numbers : {&direction, &step, &trial, &shift}) numbers->fit(dim);
        for (AlignedDoubles* numbers : {&margins, &residual, &slopes, &moves, &second_order, &weighted})
            numbers->fit(rows);
    }
};

// -- from anywhere to the root: each overwrites theta, its start
SolverResult newton(const GlmProblem& problem, double* theta, double tolerance, i64 most);
SolverResult accelerated_gradient(const GlmProblem& problem, double* theta, double tolerance, i64 most);
SolverResult variance_reduced(const GlmProblem& problem, double* theta, double tolerance, i64 most, Sfc64 random);

// The largest of 1, 1/2, 1/4, ... that decreases F enough (Armijo); 0 if none does.
double line_search(const GlmProblem& problem, const double* theta, const double* step, double decrement);

// Whether a full Newton step surely decreases F, by how far it moves the margins.
bool full_step_is_safe(Link link, const double* margins, const double* moves, i64 n);

// The largest Hessian eigenvalue of F, nearly. It may come out low where the start has next to nothing of the steepest
// direction; the caller must notice a step that is too long.
double smoothness(const GlmProblem& problem);

// sum w^2 (o - mu(z . theta))^2 with o in {0, 1}; a tie counts as half a win and half a loss.
double residual_sum(const GlmProblem& problem, const double* theta, double* margins);

}  // namespace duelist
