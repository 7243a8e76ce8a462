#include "model/solvers.hpp"

namespace duelist {

namespace {

constexpr double SUFFICIENT_DECREASE = 1e-4;
constexpr double SMALLEST_STEP = 1e-12;

double norm(const double* g, i64 n) {
    double total = 0.0;
    for (i64 k = 0; k < n; k++) total += g[k] * g[k];
    return std::sqrt(total);
}

}  // namespace

double GlmProblem::total_mass() const {
    double total = 0.0;
    for (i64 s = 0; s < n; s++) total += mass[s];
    return total;
}

double GlmProblem::largest_ridge() const {
    double largest = ridge_of(0);
    for (i64 k = 1; k < dim; k++) largest = std::max(largest, ridge_of(k));
    return largest;
}

double GlmProblem::objective(const double* theta, double* margins) const {
    kernels->margins(z, stride, dim, theta, n, margins);
    double total = 0.0;
    for (i64 k = 0; k < dim; k++) total += 0.5 * ridge_of(k) * theta[k] * theta[k];
    with_link(link, [&](auto l) {
        for (i64 s = 0; s < n; s++)
            if (mass[s] > 0.0) total += mass[s] * l.potential(margins[s]) - wins[s] * margins[s];
    });
    return total;
}

void GlmProblem::gradient(const double* theta, double* margins, double* out) const {
    kernels->margins(z, stride, dim, theta, n, margins);
    with_link(link, [&](auto l) {
        for (i64 s = 0; s < n; s++) margins[s] = mass[s] * l.mean(margins[s]) - wins[s];
    });
    for (i64 k = 0; k < dim; k++) out[k] = ridge_of(k) * theta[k] + kernels->dot(margins, z + k * stride, n);
}

// W mu(v) - O and W mu'(v) of every row.
void GlmProblem::residuals(const double* margins, double* residual, double* slopes) const {
    with_link(link, [&](auto l) {
        for (i64 s = 0; s < n; s++) {
            residual[s] = mass[s] * l.mean(margins[s]) - wins[s];
            slopes[s] = mass[s] * l.slope(margins[s]);
        }
    });
}

// If no margin moves by more than h, the curvature along the step changes by a factor of at most e^(h bound). A full
// step decreases F if that factor is below 2.
bool full_step_is_safe(Link link, const double* margins, const double* moves, i64 n) {
    return with_link(link, [&](auto l) {
        for (i64 s = 0; s < n; s++) {
            double h = std::fabs(moves[s]);
            if (!(h * l.log_slope_bound(margins[s], h) <= 0.5)) return false;  // the negation rejects NaN
        }
        return true;
    });
}

double line_search(const GlmProblem& problem, const double* theta, const double* step, double decrement) {
    AlignedDoubles margins(problem.n), trial(problem.dim);
    double start = problem.objective(theta, margins.data());
    for (double size = 1.0; size > SMALLEST_STEP; size *= 0.5) {
        for (i64 k = 0; k < problem.dim; k++) trial[k] = theta[k] + size * step[k];
        double value = problem.objective(trial.data(), margins.data());
        if (value <= start - SUFFICIENT_DECREASE * size * decrement) return size;
    }
    return 0.0;
}

// Newton's method with a line search. It stops on the Newton decrement g'H^-1 g, which is twice the decrease that the
// quadratic model predicts. Once the decrement is at most `tolerance` (times the total mass if that is below 1, so that
// scaling all weights and the ridge changes nothing), one last full step squares the error. Undamped Newton steps
// diverge on separable data, so a step is halved until F decreases enough, unless a full step provably does.
SolverResult newton(const GlmProblem& problem, double* theta, double tolerance, i64 max_iterations) {
    i64 dim = problem.dim, n = problem.n;
    AlignedDoubles step(dim), hessian(dim * dim), margins(n), moves(n), residual(n), slopes(n), weighted(n);
    kernels->margins(problem.z, problem.stride, dim, theta, n, margins.data());
    double goal = tolerance * std::min(1.0, problem.total_mass());
    for (i64 iteration = 0; iteration < max_iterations; iteration++) {
        problem.residuals(margins.data(), residual.data(), slopes.data());
        kernels->negative_gradient(problem.z, problem.stride, dim, residual.data(), n, problem.ridge, theta,
                                   step.data());
        kernels->fill_curvature(problem.z, problem.stride, dim, slopes.data(), n, problem.ridge, weighted.data(),
                                hessian.data());
        if (!kernels->cholesky(hessian.data(), dim)) return {SolverStatus::stalled, iteration};
        kernels->solve_lower(hessian.data(), dim, step.data());
        double decrement = norm(step.data(), dim);
        decrement *= decrement;
        kernels->solve_upper(hessian.data(), dim, step.data());
        if (decrement <= goal) {
            for (i64 k = 0; k < dim; k++) theta[k] += step[k];
            return {SolverStatus::converged, iteration + 1};
        }
        kernels->margins(problem.z, problem.stride, dim, step.data(), n, moves.data());
        double size = 1.0;
        if (!full_step_is_safe(problem.link, margins.data(), moves.data(), n)) {
            size = line_search(problem, theta, step.data(), decrement);
            if (size == 0.0) return {SolverStatus::stalled, iteration + 1};
        }
        for (i64 k = 0; k < dim; k++) theta[k] += size * step[k];
        kernels->margins(problem.z, problem.stride, dim, theta, n, margins.data());
    }
    return {SolverStatus::out_of_iterations, max_iterations};
}

// Power iteration; the result is raised by its residual and is at most the trace.
double smoothness(const GlmProblem& problem) {
    i64 dim = problem.dim, n = problem.n;
    AlignedDoubles q(dim), product(dim), along(n);
    for (i64 k = 0; k < dim; k++) {  // asymmetric, because differences of arms are often orthogonal to (1, .., 1)
        double turn = 0.618 * static_cast<double>(k);
        q[k] = 1.0 + (turn - std::floor(turn));
    }
    double size = norm(q.data(), dim);
    for (i64 k = 0; k < dim; k++) q[k] /= size;
    double trace = 0.0;
    for (i64 k = 0; k < dim; k++)
        for (i64 s = 0; s < n; s++) {
            double entry = problem.z[k * problem.stride + s];
            trace += problem.mass[s] * entry * entry;
        }
    double estimate = 0.0, residual = trace;
    for (int round = 0; round < 60; round++) {
        kernels->margins(problem.z, problem.stride, dim, q.data(), n, along.data());
        for (i64 s = 0; s < n; s++) along[s] *= problem.mass[s];
        for (i64 k = 0; k < dim; k++) product[k] = kernels->dot(along.data(), problem.z + k * problem.stride, n);
        size = norm(product.data(), dim);
        if (size == 0.0) break;
        estimate = kernels->dot(q.data(), product.data(), dim);
        residual = 0.0;
        for (i64 k = 0; k < dim; k++) residual += (product[k] - estimate * q[k]) * (product[k] - estimate * q[k]);
        residual = std::sqrt(residual);
        for (i64 k = 0; k < dim; k++) q[k] = product[k] / size;
    }
    if (estimate == 0.0) estimate = trace;
    return problem.largest_ridge() + max_slope(problem.link) * std::min(trace, 1.05 * estimate + residual);
}

// Nesterov's accelerated gradient descent with restarts. It stops on the norm of the gradient. Momentum grows as for a
// convex F and is reset whenever it points uphill (O'Donoghue and Candes 2015), which adapts to the true strong
// convexity; the ridge alone is a poor lower bound of it.
SolverResult accelerated_gradient(const GlmProblem& problem, double* theta, double tolerance, i64 max_iterations) {
    i64 dim = problem.dim;
    double step = 1.0 / smoothness(problem);
    AlignedDoubles margins(problem.n), g(dim), start(dim), ahead(dim), previous(dim);
    for (i64 k = 0; k < dim; k++) start[k] = ahead[k] = previous[k] = theta[k];
    double first_size = -1.0, momentum = 1.0;
    for (i64 iteration = 0; iteration < max_iterations; iteration++) {
        problem.gradient(ahead.data(), margins.data(), g.data());
        double size = norm(g.data(), dim);
        if (size <= tolerance) {
            for (i64 k = 0; k < dim; k++) theta[k] = ahead[k];
            return {SolverStatus::converged, iteration + 1};
        }
        if (first_size < 0.0) first_size = size;
        if (!std::isfinite(first_size) || step == 0.0) return {SolverStatus::stalled, iteration};  // overflow
        if (!(size <= 1e3 * first_size)) {  // the smoothness was underestimated: halve the step and restart
            step *= 0.5;
            momentum = 1.0;
            for (i64 k = 0; k < dim; k++) theta[k] = ahead[k] = start[k];
            continue;
        }
        double uphill = 0.0;
        for (i64 k = 0; k < dim; k++) {
            previous[k] = theta[k];
            theta[k] = ahead[k] - step * g[k];
            uphill += g[k] * (theta[k] - previous[k]);
        }
        if (uphill > 0.0) momentum = 1.0;
        double following = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum));
        double push = (momentum - 1.0) / following;
        momentum = following;
        for (i64 k = 0; k < dim; k++) ahead[k] = theta[k] + push * (theta[k] - previous[k]);
    }
    return {SolverStatus::out_of_iterations, max_iterations};
}

// SVRG (Johnson and Zhang 2013). It stops on the norm of the gradient, evaluated once per epoch. Rows are drawn in
// proportion to their smoothness bound (importance sampling), so that the step size depends on the mean bound and not
// on the largest.
SolverResult variance_reduced(const GlmProblem& problem, double* theta, double tolerance, i64 max_iterations,
                              Sfc64 random) {
    i64 dim = problem.dim, n = problem.n;
    double top = max_slope(problem.link), total = 0.0;
    std::vector<double> bound(static_cast<std::size_t>(n));
    for (i64 s = 0; s < n; s++) {
        double square = 0.0;
        for (i64 k = 0; k < dim; k++) square += problem.z[k * problem.stride + s] * problem.z[k * problem.stride + s];
        total += top * problem.mass[s] * square;
        bound[s] = total;
    }
    if (total == 0.0) {  // no row has any information
        for (i64 k = 0; k < dim; k++) theta[k] = 0.0;
        return {SolverStatus::converged, 0};
    }
    AlignedDoubles g(dim), anchor(dim), margins(n);
    double step = 1.0 / (4.0 * (total + problem.largest_ridge()));
    auto margin = [&](i64 s, const double* at) {
        double sum = 0.0;
        for (i64 k = 0; k < dim; k++) sum += problem.z[k * problem.stride + s] * at[k];
        return sum;
    };
    for (i64 epoch = 0; epoch < max_iterations; epoch++) {
        problem.gradient(theta, margins.data(), g.data());
        double size = norm(g.data(), dim);
        if (size <= tolerance) return {SolverStatus::converged, epoch + 1};
        if (!std::isfinite(size)) return {SolverStatus::stalled, epoch};  // overflow
        for (i64 k = 0; k < dim; k++) anchor[k] = theta[k];
        for (i64 draw = 0; draw < 2 * n; draw++) {
            double target = total * random.uniform();
            i64 s = std::upper_bound(bound.begin(), bound.end(), target) - bound.begin();
            s = std::min(s, n - 1);
            while (s > 0 && bound[s] == bound[s - 1]) s--;  // rounding may lead to a row of probability zero
            double chance = (bound[s] - (s > 0 ? bound[s - 1] : 0.0)) / total;
            double change = problem.mass[s] *
                            (mean(problem.link, margin(s, theta)) - mean(problem.link, margin(s, anchor.data()))) /
                            chance;
            for (i64 k = 0; k < dim; k++)
                theta[k] -= step * (g[k] + problem.ridge_of(k) * (theta[k] - anchor[k]) +
                                    change * problem.z[k * problem.stride + s]);
        }
    }
    return {SolverStatus::out_of_iterations, max_iterations};
}

double residual_sum(const GlmProblem& problem, const double* theta, double* margins) {
    kernels->margins(problem.z, problem.stride, problem.dim, theta, problem.n, margins);
    double total = 0.0;
    with_link(problem.link, [&](auto l) {
        for (i64 s = 0; s < problem.n; s++) {
            double p = l.mean(margins[s]);
            total += problem.wins[s] * (1.0 - p) * (1.0 - p) + (problem.mass[s] - problem.wins[s]) * p * p;
        }
    });
    return total;
}

}  // namespace duelist
