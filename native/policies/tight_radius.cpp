#include "policies/tight_radius.hpp"

#include "numerics/eigenvalues.hpp"

namespace duelist {

namespace {

// What the radius needs to know about the votes, one number per row.
struct Votes {
    GlmProblem problem;
    AlignedDoubles margins, slopes, chords;
    double largest_margin = 0.0, largest_move = 0.0, longest = 0.0;

    Votes(const GlmProblem& p, const double* theta, double bound) : problem(p), margins(p.n), slopes(p.n), chords(p.n) {
        kernels->margins(p.z, p.stride, p.dim, theta, p.n, margins.data());
        with_link(p.link, [&](auto l) {
            for (i64 s = 0; s < p.n; s++) {
                slopes[s] = p.mass[s] * l.slope(margins[s]);
                chords[s] = p.mass[s] * chord(l, margins[s]);
            }
        });
        for (i64 s = 0; s < p.n; s++) {
            if (!(p.mass[s] > 0.0)) continue;
            double square = 0.0, margin = std::fabs(margins[s]);
            for (i64 k = 0; k < p.dim; k++) square += p.z[k * p.stride + s] * p.z[k * p.stride + s];
            double length = std::sqrt(square);
            largest_margin = std::max(largest_margin, margin);
            longest = std::max(longest, length);
            largest_move = std::max(largest_move, margin + bound * length);
        }
    }

    // The upper triangle of common I + sum weights zz'.
    AlignedDoubles matrix(const double* weights, double common) const {
        AlignedDoubles out(problem.dim * problem.dim), weighted(problem.n);
        kernels->fill_curvature(problem.z, problem.stride, problem.dim, weights, problem.n, {common}, weighted.data(),
                                out.data());
        return out;
    }

    // (mu(v) - 1/2) / v, the curvature of the quadratic above M that touches it at v and -v.
    template <class L>
    static double chord(L link, double v) {
        constexpr double FLAT = 1e-4;  // the chord is at most the slope at 0
        double size = std::fabs(v);
        return size < FLAT ? link.slope(0.0) : (link.mean(size) - 0.5) / size;
    }
};

double log_determinant(const AlignedDoubles& factor, i64 dim) {
    double total = 0.0;
    for (i64 k = 0; k < dim; k++) total += log(factor[k * dim + k]);
    return 2.0 * total;
}

// -log of the mixture of likelihood ratios with prior N(0, I / precision), up to L(theta).
double cost_of_prior(const Votes& votes, double temperature, double precision, double square) {
    i64 dim = votes.problem.dim;
    AlignedDoubles factor = votes.matrix(votes.chords.data(), precision / temperature);
    if (!kernels->cholesky(factor.data(), dim)) return INF;
    double growth = log_determinant(factor, dim) - static_cast<double>(dim) * log(precision / temperature);
    return 0.5 * growth + 0.5 * precision * square;
}

// max |z_s|_{H^-1} over the rows, given the upper factor of H.
double widest_vote(const GlmProblem& p, const AlignedDoubles& factor) {
    AlignedDoubles z(p.dim);
    double largest = 0.0;
    for (i64 s = 0; s < p.n; s++) {
        if (!(p.mass[s] > 0.0)) continue;
        for (i64 k = 0; k < p.dim; k++) z[k] = p.z[k * p.stride + s];
        kernels->solve_lower(factor.data(), p.dim, z.data());
        largest = std::max(largest, kernels->dot(z.data(), z.data(), p.dim));
    }
    return std::sqrt(largest);
}

// The largest eigenvalue of H^-1 Sigma, given the factor of H and the upper triangle of Sigma.
double largest_ratio(const AlignedDoubles& factor, AlignedDoubles sigma, i64 dim) {
    for (i64 i = 0; i < dim; i++)
        for (i64 j = 0; j < i; j++) sigma[i * dim + j] = sigma[j * dim + i];
    AlignedDoubles turned(dim * dim);
    for (int side = 0; side < 2; side++) {  // R'^-1 Sigma, then R'^-1 of its transpose
        for (i64 i = 0; i < dim; i++) kernels->solve_lower(factor.data(), dim, &sigma[i * dim]);
        for (i64 i = 0; i < dim; i++)
            for (i64 j = 0; j < dim; j++) turned[j * dim + i] = sigma[i * dim + j];
        std::swap(sigma, turned);
    }
    return largest_eigenvalue(sigma.data(), dim);
}

}  // namespace

TightRadius tight_radius(PolicyState& state, i64 number, double delta, SolverWorkspace& workspace) {
    const double* theta = state.theta(number, workspace);
    const Layer& at = state.layer(number);
    double bound = state.bound, d = static_cast<double>(state.dim);
    if (at.learned == 0.0) return {std::sqrt(at.ridge) * bound, std::sqrt(at.prior) * bound};
    Votes votes(state.problem(number), theta, bound);
    double square = kernels->dot(theta, theta, state.dim);
    double temperature = likelihood_temperature(state.link);
    double cost = std::min(cost_of_prior(votes, temperature, temperature * at.ridge, square),
                           cost_of_prior(votes, temperature, d / (bound * bound), square));
    double gap = std::max((log(2.0 / delta) + cost) / temperature + 0.5 * at.ridge * (bound * bound - square), 0.0);
    AlignedDoubles factor = votes.matrix(votes.slopes.data(), at.ridge);
    if (!kernels->cholesky(factor.data(), state.dim)) return {INF, INF};
    double bend = with_link(state.link, [&](auto l) {
        return l.log_slope_bound(std::max(votes.largest_margin, bound * votes.longest), 0.0);
    });
    double turn = bend * widest_vote(votes.problem, factor) * gap;
    double local =
        std::min(0.5 * (turn + std::sqrt(turn * turn + 8.0 * gap)), std::sqrt((2.0 + bend * votes.largest_move) * gap));
    AlignedDoubles sigma = votes.matrix(votes.problem.mass, at.prior);
    return {local, local * std::sqrt(largest_ratio(factor, std::move(sigma), state.dim))};
}

}  // namespace duelist
