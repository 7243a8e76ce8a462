// An estimate that follows its data: one outcome at a time, and then exactly.
//
// Beside the estimate theta stands the factor R of its curvature, R'R = H, about
//
//     H = ridge I + sum_s W_s mu'(z_s . theta) z_s z_s'.
//
// One outcome is taken in, in O(dim^2), by minimising its loss plus the quadratic that stands for the old ones,
//
//     theta <- argmin_x  W M(z . x) - O z . x + 1/2 |x - theta|_H^2,    H <- H + W mu'(z . theta) zz'.
//
// The minimum lies on the line theta + a H^-1 z, so it is one number a, found to rounding: no step size, and no overshoot
// on a surprising outcome, which a linear step would have. This is the one-pass estimator ("online"), and the exact
// estimator's first guess. `refine` then leads it to the root of all rows, by Newton steps with the factor kept from
// earlier rounds where that is still good. For the logistic link most of these steps are on a model: each row's mean to
// second order around the last theta, which needs no new exponentials.
#pragma once

#include "model/solvers.hpp"

namespace duelist {

// Dimensions up to which a curvature that has gone stale is factored anew; above, conjugate gradients.
inline constexpr i64 MAX_DIRECT_DIM = 128;

// How many steps the one number a may take: one for the exact estimator's first guess, to rounding for the one pass.
inline constexpr int SINGLE_STEP = 1;
inline constexpr int UNTIL_CONVERGED = 100;

// The root a of a = wins - mass mu(v + a q), for q >= 0, after `most` steps at the latest.
double implicit_step(Link link, double v, double q, double mass, double wins, int most);

// argmin |x - theta|_H over |x| <= bound, for theta outside.
void project(double* theta, const double* curvature, i64 dim, double bound);

// The part of taking an outcome in that moves theta; the new margin z . theta.
double one_pass_step(double* theta, const double* curvature, i64 dim, const double* z, double mass, double wins,
                     Link link, int most, SolverWorkspace& workspace);

// Keep |theta| <= bound, by projection in the norm of H; the margin z . theta, which was v.
double project_into_ball(double* theta, const double* curvature, i64 dim, const double* z, double bound, double v);

// Take in all rows, each once, in their order; theta is what was known before.
void one_pass(const GlmProblem& problem, double* theta);

// The factor of H = ridge + sum slopes zz'. Where rounding makes it look indefinite (differences a hundred million times as large as others), a
// little more than rounding is added to its diagonal. False: not even then.
bool factor_curvature(const GlmProblem& problem, const double* slopes, SolverWorkspace& workspace, double* factor);

// Lead theta to the root of the gradient over all rows.
SolverStatus refine(const GlmProblem& problem, double* theta, double* curvature, SolverWorkspace& workspace);

}  // namespace duelist
