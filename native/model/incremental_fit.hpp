// Incremental estimation: a one-pass update per outcome, and a warm-started Newton method for the exact estimate.
//
// Beside the estimate theta, the factor R of its curvature R'R = H is stored, where approximately
//
//     H = ridge I + sum_s W_s mu'(z_s . theta) z_s z_s'.
//
// An outcome is learned in O(dim^2) by an implicit (proximal) step, which minimizes its loss plus the quadratic that
// stands for the earlier outcomes,
//
//     theta <- argmin_x  W M(z . x) - O z . x + 1/2 |x - theta|_H^2,    H <- H + W mu'(z . theta) zz'.
//
// The minimum is on the line theta + a H^-1 z, so only the number a has to be found, which is done to rounding. There
// is no step size, and no overshooting after a surprising outcome. This is the one-pass estimator ("online") and the
// first guess of the exact one, which `refine` then computes by Newton steps with the stored factor while that is
// accurate enough. For the logistic link, most of these steps use a second-order model of each row's mean, which needs
// no new exponentials.
#pragma once

#include "model/solvers.hpp"

namespace duelist {

// Up to this dimension a stale curvature is factored again; above it, steps use conjugate gradients.
inline constexpr i64 MAX_DIRECT_DIM = 128;

// Iterations for the number a: one for the first guess of the exact estimator, and up to rounding for the one-pass
// estimator.
inline constexpr int SINGLE_STEP = 1;
inline constexpr int UNTIL_CONVERGED = 100;

// The root a of a = wins - mass mu(v + a q), for q >= 0, after at most `max_iterations` steps.
double implicit_step(Link link, double v, double q, double mass, double wins, int max_iterations);

// argmin |x - theta|_H over |x| <= bound, for theta outside.
void project(double* theta, const double* curvature, i64 dim, double bound);

// Move theta by the step that learns an outcome; return the new margin z . theta.
double one_pass_step(double* theta, const double* curvature, i64 dim, const double* z, double mass, double wins,
                     Link link, int max_iterations, SolverWorkspace& workspace);

// Keep |theta| <= bound by projection in the norm of H. Return the margin z . theta, which was v before.
double project_into_ball(double* theta, const double* curvature, i64 dim, const double* z, double bound, double v);

// Learn all rows once, in order, starting at theta.
void one_pass(const GlmProblem& problem, double* theta);

// The factor of H = ridge + sum_s slopes_s z_s z_s'. If rounding makes H indefinite (differences 1e8 times as large as
// others), slightly more than the rounding error is added to its diagonal. Return false if even that fails.
bool factor_curvature(const GlmProblem& problem, const double* slopes, SolverWorkspace& workspace, double* factor);

// Move theta to the root of the gradient over all rows.
SolverStatus refine(const GlmProblem& problem, double* theta, double* curvature, SolverWorkspace& workspace);

}  // namespace duelist
