#include "model/incremental_fit.hpp"

namespace duelist {

namespace {

// The search stops once the decrement g'H^-1 g after the step, which is the squared error in standard errors, is
// expected to be at most this. A step is expected to reduce it as much as the one before.
constexpr double TOLERANCE = 1e-20;
constexpr int MAX_ITERATIONS = 200;
constexpr double NEAR = 1e-2;
constexpr double GOOD_STEP = 1e-3;
constexpr double AT_ROUNDING = 1e-14;
constexpr double BEST_GAIN = 1e-5;  // a larger reduction than this is not expected to repeat

double norm(const double* x, i64 dim) { return std::sqrt(kernels->dot(x, x, dim)); }

void add(double* theta, const double* step, i64 dim) {
    for (i64 k = 0; k < dim; k++) theta[k] += step[k];
}

// The right side decreases in a, so the root is between 0 and its value at 0. Newton steps that leave the bracket are
// replaced by bisection.
template <class L>
double root_of_step(L link, double v, double q, double mass, double wins, int max_iterations) {
    double a = 0.0, value = mass * link.mean(v) - wins;
    double low = std::min(0.0, -value), high = std::max(0.0, -value), before = INF;
    for (int step = 0; step < max_iterations; step++) {
        double following = a - value / (1.0 + mass * q * link.slope(v + a * q));
        // Newton steps that do not shrink cycle around the inflection point of the link; bisection ends the cycle.
        bool by_newton = low <= following && following <= high && std::fabs(following - a) <= 0.5 * before;
        if (!by_newton) following = 0.5 * (low + high);
        // Newton's method converges quadratically: after a step this small only rounding error is left.
        if (step == max_iterations - 1 || (by_newton && std::fabs(following - a) <= 1e-9 * std::fabs(following)))
            return following;
        before = std::fabs(following - a);
        a = following;
        value = a - (wins - mass * link.mean(v + a * q));
        (value > 0.0 ? high : low) = a;
    }
    return a;
}

// Solve (R'R + shift I) x = b by conjugate gradients, starting at x.
void shifted_solve(const double* factor, i64 dim, double shift, const double* b, double* x) {
    AlignedDoubles product(dim), rest(dim), along(dim);
    kernels->multiply(factor, dim, x, product.data());
    for (i64 k = 0; k < dim; k++) along[k] = rest[k] = b[k] - product[k] - shift * x[k];
    double square = kernels->dot(rest.data(), rest.data(), dim);
    double goal = 1e-26 * kernels->dot(b, b, dim);
    for (i64 round = 0; round < 4 * dim + 20 && square > goal; round++) {
        kernels->multiply(factor, dim, along.data(), product.data());
        for (i64 k = 0; k < dim; k++) product[k] += shift * along[k];
        double size = square / kernels->dot(along.data(), product.data(), dim);
        for (i64 k = 0; k < dim; k++) {
            x[k] += size * along[k];
            rest[k] -= size * product[k];
        }
        double following = kernels->dot(rest.data(), rest.data(), dim);
        for (i64 k = 0; k < dim; k++) along[k] = rest[k] + following / square * along[k];
        square = following;
    }
}

// Replace `step`, the negative gradient, by -H^-1 g. Store the negative gradient in `kept` and return g'H^-1 g.
double newton_step(const double* curvature, i64 dim, double* step, double* kept) {
    for (i64 k = 0; k < dim; k++) kept[k] = step[k];
    kernels->solve_lower(curvature, dim, step);
    double decrement = kernels->dot(step, step, dim);
    kernels->solve_upper(curvature, dim, step);
    return decrement;
}

// step = -H^-1 g by conjugate gradients with the stored factor as preconditioner. Return g'H^-1 g.
double preconditioned_step(const GlmProblem& p, const double* slopes, const double* curvature,
                           const double* negative_gradient, double* step) {
    i64 dim = p.dim;
    AlignedDoubles product(dim), along_rows(p.n), rest(dim), lifted(dim), along(dim);
    auto lift = [&] {
        for (i64 k = 0; k < dim; k++) lifted[k] = rest[k];
        kernels->solve_lower(curvature, dim, lifted.data());
        kernels->solve_upper(curvature, dim, lifted.data());
    };
    for (i64 k = 0; k < dim; k++) rest[k] = negative_gradient[k];
    lift();
    for (i64 k = 0; k < dim; k++) {
        along[k] = lifted[k];
        step[k] = 0.0;
    }
    double square = kernels->dot(rest.data(), lifted.data(), dim), first = square;
    for (i64 round = 0; round < 4 * dim + 20 && square > 1e-20 * first; round++) {
        kernels->margins(p.z, p.stride, dim, along.data(), p.n, along_rows.data());
        for (i64 s = 0; s < p.n; s++) along_rows[s] *= slopes[s];
        for (i64 k = 0; k < dim; k++)
            product[k] = p.ridge_of(k) * along[k] + kernels->dot(along_rows.data(), p.z + k * p.stride, p.n);
        double size = square / kernels->dot(along.data(), product.data(), dim);
        for (i64 k = 0; k < dim; k++) {
            step[k] += size * along[k];
            rest[k] -= size * product[k];
        }
        lift();
        double following = kernels->dot(rest.data(), lifted.data(), dim);
        for (i64 k = 0; k < dim; k++) along[k] = lifted[k] + following / square * along[k];
        square = following;
    }
    return kernels->dot(step, negative_gradient, dim);
}

bool filled(const GlmProblem& p, const double* slopes, SolverWorkspace& workspace, double* factor, double more) {
    kernels->fill_curvature(p.z, p.stride, p.dim, slopes, p.n, p.ridge, workspace.weighted.data(), factor);
    for (i64 k = 0; k < p.dim; k++) factor[k * p.dim + k] *= 1.0 + more;
    return kernels->cholesky(factor, p.dim);
}

// Set workspace.step to the Newton step for the true curvature and return its decrement, or NaN if there is none.
// workspace.slopes are the W mu' of the rows, and workspace.trial is the negative gradient.
double true_newton_step(const GlmProblem& p, double* curvature, SolverWorkspace& workspace) {
    if (p.dim > MAX_DIRECT_DIM)
        return preconditioned_step(p, workspace.slopes.data(), curvature, workspace.trial.data(),
                                   workspace.step.data());
    if (!factor_curvature(p, workspace.slopes.data(), workspace, curvature)) return NOT_A_NUMBER;
    for (i64 k = 0; k < p.dim; k++) workspace.step[k] = workspace.trial[k];
    return newton_step(curvature, p.dim, workspace.step.data(), workspace.trial.data());
}

// Find the root of a model of the gradient with the stored curvature, starting with the step in workspace.step. The sum
// of the steps goes to workspace.shift.
//
// With m_s the move of a margin, the model takes a row's residual as W (mu + mu' m + mu'' m^2 / 2) - O. Return the
// decrement that the model may have missed. For the logistic link the third derivative is at most mu', so this is at
// most sum W mu' (m^3 / 6)^2, where sum W mu' m^2 is the decrement and no m^2 exceeds the sum of all. Return infinity
// if the curvature is too stale to make progress.
double follow_model(const GlmProblem& p, const double* theta, const double* curvature, double decrement, double goal,
                    SolverWorkspace& workspace) {
    double *step = workspace.step.data(), *shift = workspace.shift.data(), *moves = workspace.moves.data();
    for (i64 k = 0; k < p.dim; k++) shift[k] = step[k];
    kernels->margins(p.z, p.stride, p.dim, shift, p.n, moves);
    double reached = kernels->dot(moves, moves, p.n);
    double missed = reached * reached * decrement / 36.0;
    double last = decrement;
    while (true) {
        kernels->model_residual(workspace.residual.data(), workspace.slopes.data(), workspace.second_order.data(),
                                moves, p.n);
        for (i64 k = 0; k < p.dim; k++) workspace.trial[k] = theta[k] + shift[k];
        kernels->negative_gradient(p.z, p.stride, p.dim, moves, p.n, p.ridge, workspace.trial.data(), step);
        decrement = newton_step(curvature, p.dim, step, workspace.trial.data());
        if (!(decrement <= GOOD_STEP * last)) return INF;
        add(shift, step, p.dim);
        // The root of the model need not be more accurate than the model.
        if (decrement * std::max(decrement / last, BEST_GAIN) <= std::max(goal, missed)) return missed;
        last = decrement;
        kernels->margins(p.z, p.stride, p.dim, shift, p.n, moves);
    }
}

}  // namespace

bool factor_curvature(const GlmProblem& p, const double* slopes, SolverWorkspace& workspace, double* factor) {
    return filled(p, slopes, workspace, factor, 0.0) || filled(p, slopes, workspace, factor, 0x1p-36);
}

double implicit_step(Link link, double v, double q, double mass, double wins, int max_iterations) {
    return with_link(link, [&](auto l) { return root_of_step(l, v, q, mass, wins, max_iterations); });
}

// The projection is x = (H + s I)^-1 H theta for the s > 0 with |x| = bound. |x| decreases in s, so bisect on s. Each x
// takes conjugate gradient steps of O(dim^2).
void project(double* theta, const double* curvature, i64 dim, double bound) {
    AlignedDoubles target(dim), x(dim);
    kernels->multiply(curvature, dim, theta, target.data());
    double low = 0.0, high = norm(target.data(), dim) / bound;
    for (i64 k = 0; k < dim; k++) x[k] = theta[k];
    for (int halving = 0; halving < 100; halving++) {
        double middle = 0.5 * (low + high);
        shifted_solve(curvature, dim, middle, target.data(), x.data());
        double size = norm(x.data(), dim);
        if (std::fabs(size - bound) <= 1e-12 * bound) break;
        (size > bound ? low : high) = middle;
    }
    double size = norm(x.data(), dim);
    for (i64 k = 0; k < dim; k++) theta[k] = x[k] * (bound / size);
}

double one_pass_step(double* theta, const double* curvature, i64 dim, const double* z, double mass, double wins,
                     Link link, int max_iterations, SolverWorkspace& workspace) {
    double* direction = workspace.direction.data();
    for (i64 k = 0; k < dim; k++) direction[k] = z[k];
    kernels->solve_lower(curvature, dim, direction);
    double q = kernels->dot(direction, direction, dim);
    kernels->solve_upper(curvature, dim, direction);
    double v = kernels->dot(z, theta, dim);
    double a = implicit_step(link, v, q, mass, wins, max_iterations);
    for (i64 k = 0; k < dim; k++) theta[k] += a * direction[k];
    return v + a * q;
}

double project_into_ball(double* theta, const double* curvature, i64 dim, const double* z, double bound, double v) {
    if (!(kernels->dot(theta, theta, dim) > bound * bound)) return v;
    project(theta, curvature, dim, bound);
    return kernels->dot(z, theta, dim);
}

void one_pass(const GlmProblem& p, double* theta) {
    SolverWorkspace workspace;
    workspace.fit(p.dim, 0);
    AlignedDoubles curvature(p.dim * p.dim), row(p.dim);
    for (i64 k = 0; k < p.dim; k++) curvature[k * p.dim + k] = std::sqrt(p.ridge_of(k));
    for (i64 s = 0; s < p.n; s++) {
        if (!(p.mass[s] > 0.0)) continue;
        for (i64 k = 0; k < p.dim; k++) row[k] = p.z[k * p.stride + s];
        double v = one_pass_step(theta, curvature.data(), p.dim, row.data(), p.mass[s], p.wins[s], p.link,
                                 UNTIL_CONVERGED, workspace);
        kernels->cholesky_update(curvature.data(), p.dim, row.data(), p.mass[s] * slope(p.link, v),
                                 workspace.step.data());
    }
}

// A step with the stored curvature costs O(n dim + dim^2) and converges fast while that curvature is near the true one.
// After a step that gained less than GOOD_STEP, or far from the root, the curvature is factored again (up to
// MAX_DIRECT_DIM dimensions), or the step is found by conjugate gradients on the true curvature with the stored one as
// preconditioner. Such steps have a line search.
SolverStatus refine(const GlmProblem& p, double* theta, double* curvature, SolverWorkspace& workspace) {
    workspace.fit(p.dim, p.n);
    double *margins = workspace.margins.data(), *moves = workspace.moves.data(), *step = workspace.step.data();
    double scale = std::min(1.0, p.total_mass());
    double goal = TOLERANCE * scale, last = 0.0;
    bool kept = true;
    kernels->margins(p.z, p.stride, p.dim, theta, p.n, margins);
    for (int iteration = 0; iteration < MAX_ITERATIONS; iteration++) {
        if (p.link == Link::logistic)
            kernels->logistic_model(p.mass, p.wins, margins, p.n, workspace.residual.data(), workspace.slopes.data(),
                                    workspace.second_order.data());
        else
            p.residuals(margins, workspace.residual.data(), workspace.slopes.data());
        kernels->negative_gradient(p.z, p.stride, p.dim, workspace.residual.data(), p.n, p.ridge, theta, step);
        double decrement = newton_step(curvature, p.dim, step, workspace.trial.data());
        // The next step with this curvature gains as much as this one; a Newton step with the true curvature says
        // nothing about it.
        double gain = kept && 0.0 < decrement && decrement < last ? std::max(decrement / last, BEST_GAIN) : 1.0;
        if (decrement * gain <= goal) {
            add(theta, step, p.dim);
            return SolverStatus::converged;
        }
        // A true Newton step gained nothing this close to the root, so only rounding error is left.
        if (!kept && decrement >= 0.5 * last && decrement <= AT_ROUNDING * scale) return SolverStatus::converged;
        kept = !(decrement > NEAR * scale || (last > 0.0 && decrement > GOOD_STEP * last));
        if (kept && p.link == Link::logistic) {
            double missed = follow_model(p, theta, curvature, decrement, goal, workspace);
            kept = missed < INF;
            if (kept) {
                add(theta, workspace.shift.data(), p.dim);
                if (missed <= goal) return SolverStatus::converged;
                kernels->margins(p.z, p.stride, p.dim, theta, p.n, margins);
                last = 0.0;  // the gain of several model steps says nothing about a single step
                continue;
            }
            kernels->negative_gradient(p.z, p.stride, p.dim, workspace.residual.data(), p.n, p.ridge, theta,
                                       workspace.trial.data());
        }
        if (!kept) {
            decrement = true_newton_step(p, curvature, workspace);
            if (!(decrement >= 0.0)) return SolverStatus::stalled;
            if (decrement <= goal) {
                add(theta, step, p.dim);
                return SolverStatus::converged;
            }
            kernels->margins(p.z, p.stride, p.dim, step, p.n, moves);
            if (!full_step_is_safe(p.link, margins, moves, p.n)) {
                double size = line_search(p, theta, step, decrement);
                if (size == 0.0) return SolverStatus::stalled;
                for (i64 k = 0; k < p.dim; k++) step[k] *= size;
            }
        }
        add(theta, step, p.dim);
        kernels->margins(p.z, p.stride, p.dim, theta, p.n, margins);
        last = decrement;
    }
    return SolverStatus::out_of_iterations;
}

}  // namespace duelist
