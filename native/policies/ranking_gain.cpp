#include "policies/ranking_gain.hpp"

#include <algorithm>
#include <numeric>

namespace duelist {

namespace {

constexpr double SQRT_HALF = 0.70710678118654752440;
constexpr double NO_WIDTH = 1e-200;  // below this, two arms count as equal and have no order
constexpr double MISFIT = 0.25;      // prior variance of a pair's deviation from the utilities of its arms
constexpr i64 NEIGHBORS = 16;        // with many arms, each is compared with this number of neighbors in the order
constexpr i64 MOST_UNCERTAIN = 64;   // and this number of the most uncertain arms are compared with one another

// Random-looking numbers by arm id (the finalizer of SplitMix64), the same in every round. If ties went to the first in
// the list, a list sorted by quality would have its neighbors compared first, which has the least information.
std::vector<u64> tie_breakers_of(const i64* numbers, i64 n) {
    std::vector<u64> tie_breakers(static_cast<std::size_t>(n));
    for (i64 k = 0; k < n; k++) {
        u64 mix = (static_cast<u64>(numbers ? numbers[k] : k) + 1) * 0x9e3779b97f4a7c15u;
        mix = (mix ^ (mix >> 30)) * 0xbf58476d1ce4e5b9u;
        mix = (mix ^ (mix >> 27)) * 0x94d049bb133111ebu;
        tie_breakers[k] = mix ^ (mix >> 31);
    }
    return tie_breakers;
}

// Positions by decreasing utility; ties are broken by `tie_breakers`.
std::vector<i64> by_falling_utility(const double* u, i64 n, const std::vector<u64>& tie_breakers) {
    std::vector<i64> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](i64 a, i64 b) { return u[a] != u[b] ? u[a] > u[b] : tie_breakers[a] < tie_breakers[b]; });
    return order;
}

// The probability that two arms are in the wrong order and that the better one belongs to the relevant ranks, divided
// by the squared width W^2. Two arms with equal variances have a standard deviation of W / sqrt(2) each.
class PairUncertainty {
public:
    // `u` is in decreasing order.
    PairUncertainty(const double* u, i64 n, i64 top) : partly_(top > 0 && top < n - 1) {
        if (partly_) border_ = 0.5 * (u[top - 1] + u[top]);
    }

    double operator()(double higher, double lower, double square) const {
        if (!(square > NO_WIDTH)) return 0.0;
        double width = std::sqrt(square), chance = 0.5 * erfc((higher - lower) / width * SQRT_HALF);
        if (partly_) chance *= 0.5 * erfc((border_ - higher) / width);
        return chance / square;
    }

private:
    bool partly_;
    double border_ = 0.0;
};

// The best pair so far, by position. A pair's value is computed only if the largest slope could make it the best.
class BestRankingPair {
public:
    BestRankingPair(Link link, const PairConstraints& constraints, const std::vector<u64>& tie_breakers)
        : link_(link), max_slope_(max_slope(link)), constraints_(constraints), tie_breakers_(tie_breakers) {}

    // `gain` is what a vote on the pair is worth, times (1 + slope square) / slope.
    void consider(i64 i, i64 j, double gap, double square, double gain) {
        if (found_.first >= 0 && value_of(max_slope_, square, gain) < found_.value) return;
        double value = value_of(slope(link_, shrunk_gap(gap, square)), square, gain);
        bool better = found_.first < 0 || value > found_.value ||
                      (value == found_.value && tie_breaker(i, j) < tie_breaker(found_.first, found_.second));
        if (better && constraints_.allows(i, j)) found_ = {std::min(i, j), std::max(i, j), value};
    }

    const FoundPair& found() const { return found_; }

private:
    Link link_;
    double max_slope_;
    PairConstraints constraints_;
    const std::vector<u64>& tie_breakers_;
    FoundPair found_ = NO_PAIR;

    std::pair<u64, u64> tie_breaker(i64 i, i64 j) const {
        return {std::min(tie_breakers_[i], tie_breakers_[j]), std::max(tie_breakers_[i], tie_breakers_[j])};
    }

    static double value_of(double slope, double square, double gain) {
        return slope * std::max(gain, 0.0) / (1.0 + slope * square);
    }
};

// Numbers for the pairs of each arm with its neighbors in the order.
class NeighborBand {
public:
    NeighborBand(i64 n, i64 neighbors)
        : n_(n), neighbors_(std::min(neighbors, n - 1)), stride_(padded(neighbors_)), cells_(n * stride_) {}
    double* of(i64 place) { return cells_.data() + place * stride_; }
    i64 stop(i64 place) const { return std::min(place + neighbors_ + 1, n_); }

private:
    i64 n_, neighbors_, stride_;
    AlignedDoubles cells_;
};

// Columns by decreasing utility, centered.
struct SortedColumns {
    std::vector<i64> order;
    AlignedDoubles u, v;
    i64 n, stride, dim;

    SortedColumns(const ArmView& view, const std::vector<u64>& tie_breakers)
        : order(by_falling_utility(view.u, view.n, tie_breakers)),
          u(padded(view.n)),
          v(view.dim * padded(view.n)),
          n(view.n),
          stride(padded(view.n)),
          dim(view.dim) {
        kernels->pick_columns(view.v, view.stride, dim, order.data(), n, v.data(), stride);
        for (i64 r = 0; r < n; r++) u[r] = view.u[order[r]];
        for (i64 k = 0; k < dim; k++) {
            double *row = v.data() + k * stride, total = 0.0;
            for (i64 r = 0; r < n; r++) total += row[r];
            for (i64 r = 0; r < n; r++) row[r] -= total / static_cast<double>(n);
            std::fill(row + n, row + stride, 0.0);
        }
    }
};

// out = v L, for the Laplacian L weighted by the uncertainty of pairs, given their squared widths.
void laplacian_columns(const double* v, i64 stride, i64 dim, const double* u, i64 n, const PairUncertainty& uncertainty,
                       NeighborBand& squares, double* out) {
    AlignedDoubles weights(padded(n));
    for (i64 r = 0; r + 1 < n; r++) {
        i64 stop = squares.stop(r), count = stop - r - 1;
        const double* line = squares.of(r);
        for (i64 b = 0; b < count; b++) weights[b] = uncertainty(u[r], u[r + 1 + b], line[b]);
        for (i64 b = count; b < padded(count); b++) weights[b] = 0.0;
        kernels->laplacian_product(v, stride, dim, r, r + 1, stop, weights.data(), out);
    }
}

// matrix = v t', a symmetric matrix.
void multiply_rows(const double* v, const double* t, i64 stride, i64 dim, i64 n, double* matrix) {
    for (i64 k = 0; k < dim; k++)
        for (i64 l = k; l < dim; l++)
            matrix[k * dim + l] = matrix[l * dim + k] = kernels->dot(v + k * stride, t + l * stride, n);
}

// Try the pairs of the arms that extend farthest in the directions in which the order is uncertain.
void consider_most_uncertain(const SortedColumns& arms, const double* y, BestRankingPair& best) {
    std::vector<double> reach(static_cast<std::size_t>(arms.n), 0.0);
    for (i64 k = 0; k < arms.dim; k++)
        for (i64 r = 0; r < arms.n; r++) reach[r] += arms.v[k * arms.stride + r] * y[k * arms.stride + r];
    std::vector<i64> farthest = ArmEffectsView::largest(reach.data(), arms.n, MOST_UNCERTAIN);
    i64 count = static_cast<i64>(farthest.size()), stride = padded(count);
    AlignedDoubles v(arms.dim * stride), gains(arms.dim * stride), squares(stride), gain(stride);
    kernels->pick_columns(arms.v.data(), arms.stride, arms.dim, farthest.data(), count, v.data(), stride);
    kernels->pick_columns(y, arms.stride, arms.dim, farthest.data(), count, gains.data(), stride);
    for (i64 a = 0; a + 1 < count; a++) {
        kernels->squared_widths(v.data(), stride, arms.dim, a, a + 1, count, squares.data());
        kernels->gap_products(v.data(), gains.data(), stride, arms.dim, a, a + 1, count, gain.data());
        for (i64 b = a + 1; b < count; b++)
            best.consider(arms.order[farthest[a]], arms.order[farthest[b]], arms.u[farthest[a]] - arms.u[farthest[b]],
                          squares[b - a - 1], gain[b - a - 1]);
    }
}

// Try all pairs of a band. z' M z of a pair is the product of its gaps in v and y; `discount` is a factor for the pair.
template <class Discount>
void consider_band(const std::vector<i64>& order, const double* u, const double* v, const double* y, i64 stride,
                   i64 dim, NeighborBand& squares, BestRankingPair& best, Discount&& discount) {
    i64 n = static_cast<i64>(order.size());
    AlignedDoubles gain(padded(n));
    for (i64 r = 0; r + 1 < n; r++) {
        i64 stop = squares.stop(r);
        kernels->gap_products(v, y, stride, dim, r, r + 1, stop, gain.data());
        for (i64 s = r + 1; s < stop; s++)
            best.consider(order[r], order[s], u[r] - u[s], squares.of(r)[s - r - 1], discount(r, s) * gain[s - r - 1]);
    }
}

PairConstraints of_different(PairConstraints constraints) {
    constraints.distinct = true;  // a self-duel has no information
    return constraints;
}

// -- arm effects ----------------------------------------------------------------------------

struct SortedEffects {
    ArmEffectsView& view;
    std::vector<i64> order;
    AlignedDoubles u;
    NeighborBand squares;

    SortedEffects(ArmEffectsView& seen, i64 neighbors, const std::vector<u64>& tie_breakers)
        : view(seen),
          order(by_falling_utility(seen.u(), seen.n(), tie_breakers)),
          u(padded(seen.n())),
          squares(seen.n(), neighbors) {
        for (i64 r = 0; r < n(); r++) {
            u[r] = view.u()[order[r]];
            view.squared_widths(order[r], {order.data() + r + 1, squares.stop(r) - r - 1}, squares.of(r));
        }
    }
    i64 n() const { return view.n(); }
};

// Minus the precision of some arms: entry (i, j) is the information of votes on this very pair. All zero if the
// covariance is singular after rounding.
AlignedDoubles direct_information(const double* covariance, i64 n, i64 stride) {
    AlignedDoubles factor(n * n), information(n * stride), line(padded(n));
    for (i64 r = 0; r < n; r++) std::copy_n(covariance + r * stride, n, factor.data() + r * n);
    if (!kernels->cholesky(factor.data(), n)) return information;
    for (i64 r = 0; r < n; r++) {
        std::fill_n(line.data(), n, 0.0);
        line[r] = -1.0;
        kernels->solve_lower(factor.data(), n, line.data());
        kernels->solve_upper(factor.data(), n, line.data());
        std::copy_n(line.data(), n, information.data() + r * stride);
    }
    return information;
}

// All pairs. The covariances are the columns, and L C = (C L)'. If a pair deviates from its utilities by N(0, MISFIT),
// votes with information t on the pair are worth 1 / (1 / t + MISFIT), and the next one (1 + MISFIT t)^-2 of the first.
void consider_all(SortedEffects& arms, const PairUncertainty& uncertainty, BestRankingPair& best) {
    i64 n = arms.n(), stride = padded(n);
    AlignedDoubles covariance(n * stride), gains(n * stride), turned(n * stride);
    for (i64 r = 0; r < n; r++)
        arms.view.covariances(arms.order[r], ArmSubset::of(arms.order), covariance.data() + r * stride);
    laplacian_columns(covariance.data(), stride, n, arms.u.data(), n, uncertainty, arms.squares, gains.data());
    for (i64 r = 0; r < n; r++)
        for (i64 s = 0; s < n; s++) turned[s * stride + r] = gains[r * stride + s];
    AlignedDoubles information = direct_information(covariance.data(), n, stride);
    auto discount = [&](i64 r, i64 s) {
        double growth = 1.0 + MISFIT * std::max(information[r * stride + s], 0.0);
        return 1.0 / (growth * growth);
    };
    consider_band(arms.order, arms.u.data(), covariance.data(), turned.data(), stride, n, arms.squares, best, discount);
}

// Neighboring pairs only, each with what a vote says about its own order.
void consider_neighbors(SortedEffects& arms, const PairUncertainty& uncertainty, BestRankingPair& best) {
    for (i64 r = 0; r + 1 < arms.n(); r++)
        for (i64 s = r + 1; s < arms.squares.stop(r); s++) {
            double square = arms.squares.of(r)[s - r - 1];
            best.consider(arms.order[r], arms.order[s], arms.u[r] - arms.u[s], square,
                          uncertainty(arms.u[r], arms.u[s], square) * square * square);
        }
}

}  // namespace

FoundPair best_ranking_pair(Link link, const ArmView& view, i64 top, const ArmTable& table) {
    if (view.n == 1) return {0, 0, 0.0};
    PairConstraints constraints = of_different(table.constraints());
    std::vector<u64> tie_breakers = tie_breakers_of(nullptr, view.n);
    SortedColumns arms(view, tie_breakers);
    i64 n = arms.n, dim = arms.dim, stride = arms.stride;
    const double* v = arms.v.data();
    NeighborBand squares(n, n <= MAX_ALL_PAIRS ? n : NEIGHBORS);
    for (i64 r = 0; r + 1 < n; r++) kernels->squared_widths(v, stride, dim, r, r + 1, squares.stop(r), squares.of(r));
    AlignedDoubles gains(dim * stride), matrix(dim * dim);
    laplacian_columns(v, stride, dim, arms.u.data(), n, {arms.u.data(), n, top}, squares, gains.data());
    multiply_rows(v, gains.data(), stride, dim, n, matrix.data());
    kernels->multiply_symmetric(matrix.data(), dim, v, stride, n, gains.data());
    BestRankingPair best(link, constraints, tie_breakers);
    consider_band(arms.order, arms.u.data(), v, gains.data(), stride, dim, squares, best, [](i64, i64) { return 1.0; });
    if (n > MAX_ALL_PAIRS) consider_most_uncertain(arms, gains.data(), best);
    return best.found().first >= 0 ? best.found() : first_pair(n, constraints);
}

FoundPair best_ranking_pair(ArmEffectsView& view, Link link, i64 top, const ArmTable& table) {
    i64 n = view.n();
    if (n == 1) return {0, 0, 0.0};
    PairConstraints constraints = of_different(table.constraints());
    bool few = n <= MAX_ALL_PAIRS_WITH_EFFECTS;
    std::vector<u64> tie_breakers = tie_breakers_of(table.ids, n);
    SortedEffects arms(view, few ? n : NEIGHBORS, tie_breakers);
    PairUncertainty uncertainty(arms.u.data(), n, top);
    BestRankingPair best(link, constraints, tie_breakers);
    few ? consider_all(arms, uncertainty, best) : consider_neighbors(arms, uncertainty, best);
    return best.found().first >= 0 ? best.found() : first_pair(n, constraints);
}

}  // namespace duelist
