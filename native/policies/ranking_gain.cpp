#include "policies/ranking_gain.hpp"

#include <algorithm>
#include <numeric>

namespace duelist {

namespace {

constexpr double SQRT_HALF = 0.70710678118654752440;
constexpr double NO_WIDTH = 1e-200;  // two arms that are one: nothing is to be found out about their order
constexpr double MISFIT = 0.25;      // variance of what a pair has of its own, beyond the utilities of its arms
constexpr i64 NEXT = 16;             // of many arms, an arm is compared with so many that stand next to it
constexpr i64 FAR = 64;              // and so many arms about which most is open meet one another

// Lots that arms draw by their numbers (the finalizer of SplitMix64), the same in every round. Whoever lists arms from the best to the worst
// would, if equals met in the order of the list, have neighbours compared first, which settles least.
std::vector<u64> lots_of(const i64* numbers, i64 n) {
    std::vector<u64> lots(static_cast<std::size_t>(n));
    for (i64 k = 0; k < n; k++) {
        u64 mix = (static_cast<u64>(numbers ? numbers[k] : k) + 1) * 0x9e3779b97f4a7c15u;
        mix = (mix ^ (mix >> 30)) * 0xbf58476d1ce4e5b9u;
        mix = (mix ^ (mix >> 27)) * 0x94d049bb133111ebu;
        lots[k] = mix ^ (mix >> 31);
    }
    return lots;
}

// Of equal utilities the one with the smaller lot is first.
std::vector<i64> by_falling_utility(const double* u, i64 n, const std::vector<u64>& lots) {
    std::vector<i64> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](i64 a, i64 b) { return u[a] != u[b] ? u[a] > u[b] : lots[a] < lots[b]; });
    return order;
}

// The chance that two arms stand in the wrong order, and that the better one has one of the places that matter, divided by their
// squared width W^2. Of two arms of which the same is known, each is known to W / sqrt(2).
class PairUncertainty {
public:
    // `u` falls from place to place.
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

// The best pair so far, by positions on the table. Values are computed only where the largest slope could make them the best.
class BestRankingPair {
public:
    BestRankingPair(Link link, const PairConstraints& constraints, const std::vector<u64>& lots)
        : link_(link), steepest_(max_slope(link)), constraints_(constraints), lots_(lots) {}

    // `settled` is what a vote on the pair would settle, times (1 + slope square) / slope.
    void meet(i64 i, i64 j, double gap, double square, double settled) {
        if (found_.first >= 0 && worth(steepest_, square, settled) < found_.value) return;
        double value = worth(slope(link_, shrunk_gap(gap, square)), square, settled);
        bool better = found_.first < 0 || value > found_.value ||
                      (value == found_.value && drawn(i, j) < drawn(found_.first, found_.second));
        if (better && constraints_.allows(i, j)) found_ = {std::min(i, j), std::max(i, j), value};
    }

    const FoundPair& found() const { return found_; }

private:
    Link link_;
    double steepest_;
    PairConstraints constraints_;
    const std::vector<u64>& lots_;
    FoundPair found_ = NO_PAIR;

    std::pair<u64, u64> drawn(i64 i, i64 j) const {
        return {std::min(lots_[i], lots_[j]), std::max(lots_[i], lots_[j])};
    }

    static double worth(double slope, double square, double settled) {
        return slope * std::max(settled, 0.0) / (1.0 + slope * square);
    }
};

// Some numbers for each pair of an arm with those that stand next to it.
class NeighborBand {
public:
    NeighborBand(i64 n, i64 next) : n_(n), next_(std::min(next, n - 1)), stride_(padded(next_)), cells_(n * stride_) {}
    double* of(i64 place) { return cells_.data() + place * stride_; }
    i64 stop(i64 place) const { return std::min(place + next_ + 1, n_); }

private:
    i64 n_, next_, stride_;
    AlignedDoubles cells_;
};

// Arms in columns, in falling order of utility, moved to the middle.
struct SortedColumns {
    std::vector<i64> order;
    AlignedDoubles u, v;
    i64 n, stride, dim;

    SortedColumns(const ArmView& view, const std::vector<u64>& lots)
        : order(by_falling_utility(view.u, view.n, lots)),
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

// out = v L, for the Laplacian L of how open the pairs are; the squared widths of the pairs.
void pull(const double* v, i64 stride, i64 dim, const double* u, i64 n, const PairUncertainty& open,
          NeighborBand& squares, double* out) {
    AlignedDoubles weights(padded(n));
    for (i64 r = 0; r + 1 < n; r++) {
        i64 stop = squares.stop(r), count = stop - r - 1;
        const double* line = squares.of(r);
        for (i64 b = 0; b < count; b++) weights[b] = open(u[r], u[r + 1 + b], line[b]);
        for (i64 b = count; b < padded(count); b++) weights[b] = 0.0;
        kernels->laplacian_product(v, stride, dim, r, r + 1, stop, weights.data(), out);
    }
}

// matrix = v t', which is symmetric.
void multiply_rows(const double* v, const double* t, i64 stride, i64 dim, i64 n, double* matrix) {
    for (i64 k = 0; k < dim; k++)
        for (i64 l = k; l < dim; l++)
            matrix[k * dim + l] = matrix[l * dim + k] = kernels->dot(v + k * stride, t + l * stride, n);
}

// Pairs of the arms that lie farthest out in the directions in which the order is open.
void meet_far_out(const SortedColumns& arms, const double* y, BestRankingPair& best) {
    std::vector<double> reach(static_cast<std::size_t>(arms.n), 0.0);
    for (i64 k = 0; k < arms.dim; k++)
        for (i64 r = 0; r < arms.n; r++) reach[r] += arms.v[k * arms.stride + r] * y[k * arms.stride + r];
    std::vector<i64> far = ArmEffectsView::largest(reach.data(), arms.n, FAR);
    i64 count = static_cast<i64>(far.size()), stride = padded(count);
    AlignedDoubles v(arms.dim * stride), pulled(arms.dim * stride), squares(stride), settled(stride);
    kernels->pick_columns(arms.v.data(), arms.stride, arms.dim, far.data(), count, v.data(), stride);
    kernels->pick_columns(y, arms.stride, arms.dim, far.data(), count, pulled.data(), stride);
    for (i64 a = 0; a + 1 < count; a++) {
        kernels->squared_widths(v.data(), stride, arms.dim, a, a + 1, count, squares.data());
        kernels->gap_products(v.data(), pulled.data(), stride, arms.dim, a, a + 1, count, settled.data());
        for (i64 b = a + 1; b < count; b++)
            best.meet(arms.order[far[a]], arms.order[far[b]], arms.u[far[a]] - arms.u[far[b]], squares[b - a - 1],
                      settled[b - a - 1]);
    }
}

// Every pair of a band, where z' M z of a pair is the product of its gaps in v and y; `fresh` is what is left of a vote's worth.
template <class Fresh>
void meet_in_band(const std::vector<i64>& order, const double* u, const double* v, const double* y, i64 stride, i64 dim,
                  NeighborBand& squares, BestRankingPair& best, Fresh&& fresh) {
    i64 n = static_cast<i64>(order.size());
    AlignedDoubles settled(padded(n));
    for (i64 r = 0; r + 1 < n; r++) {
        i64 stop = squares.stop(r);
        kernels->gap_products(v, y, stride, dim, r, r + 1, stop, settled.data());
        for (i64 s = r + 1; s < stop; s++)
            best.meet(order[r], order[s], u[r] - u[s], squares.of(r)[s - r - 1], fresh(r, s) * settled[s - r - 1]);
    }
}

PairConstraints of_different(PairConstraints constraints) {
    constraints.distinct = true;  // an arm against itself settles nothing
    return constraints;
}

// -- arms with terms of their own -----------------------------------------------------------

struct SortedEffects {
    ArmEffectsView& view;
    std::vector<i64> order;
    AlignedDoubles u;
    NeighborBand squares;

    SortedEffects(ArmEffectsView& seen, i64 next, const std::vector<u64>& lots)
        : view(seen),
          order(by_falling_utility(seen.u(), seen.n(), lots)),
          u(padded(seen.n())),
          squares(seen.n(), next) {
        for (i64 r = 0; r < n(); r++) {
            u[r] = view.u()[order[r]];
            view.squares(order[r], order.data() + r + 1, squares.stop(r) - r - 1, squares.of(r));
        }
    }
    i64 n() const { return view.n(); }
};

// Minus the precision of some arms: entry (i, j) is what votes on these two have taught, each with its slope. All zero where rounding
// leaves no inverse.
AlignedDoubles taught_directly(const double* covariance, i64 n, i64 stride) {
    AlignedDoubles factor(n * n), taught(n * stride), line(padded(n));
    for (i64 r = 0; r < n; r++) std::copy_n(covariance + r * stride, n, factor.data() + r * n);
    if (!kernels->cholesky(factor.data(), n)) return taught;
    for (i64 r = 0; r < n; r++) {
        std::fill_n(line.data(), n, 0.0);
        line[r] = -1.0;
        kernels->solve_lower(factor.data(), n, line.data());
        kernels->solve_upper(factor.data(), n, line.data());
        std::copy_n(line.data(), n, taught.data() + r * stride);
    }
    return taught;
}

// All pairs: the covariances are the columns, and L C = (C L)' what they are pulled to. After votes that taught t of a pair with an effect of
// its own, N(0, MISFIT), the pair says 1 / (1 / t + MISFIT) about its arms, and the next vote 1 / (1 + MISFIT t)^2 of what the first did.
void meet_all(SortedEffects& arms, const PairUncertainty& open, BestRankingPair& best) {
    i64 n = arms.n(), stride = padded(n);
    AlignedDoubles covariance(n * stride), pulled(n * stride), turned(n * stride);
    for (i64 r = 0; r < n; r++)
        arms.view.covariances(arms.order[r], arms.order.data(), n, covariance.data() + r * stride);
    pull(covariance.data(), stride, n, arms.u.data(), n, open, arms.squares, pulled.data());
    for (i64 r = 0; r < n; r++)
        for (i64 s = 0; s < n; s++) turned[s * stride + r] = pulled[r * stride + s];
    AlignedDoubles taught = taught_directly(covariance.data(), n, stride);
    auto fresh = [&](i64 r, i64 s) {
        double tired = 1.0 + MISFIT * std::max(taught[r * stride + s], 0.0);
        return 1.0 / (tired * tired);
    };
    meet_in_band(arms.order, arms.u.data(), covariance.data(), turned.data(), stride, n, arms.squares, best, fresh);
}

// Pairs that stand next to each other, each for what a vote on it settles of its own order.
void meet_neighbours(SortedEffects& arms, const PairUncertainty& open, BestRankingPair& best) {
    for (i64 r = 0; r + 1 < arms.n(); r++)
        for (i64 s = r + 1; s < arms.squares.stop(r); s++) {
            double square = arms.squares.of(r)[s - r - 1];
            best.meet(arms.order[r], arms.order[s], arms.u[r] - arms.u[s], square,
                      open(arms.u[r], arms.u[s], square) * square * square);
        }
}

}  // namespace

FoundPair best_ranking_pair(Link link, const ArmView& view, i64 top, const ArmTable& table) {
    if (view.n == 1) return {0, 0, 0.0};
    PairConstraints constraints = of_different(table.constraints());
    std::vector<u64> lots = lots_of(nullptr, view.n);
    SortedColumns arms(view, lots);
    i64 n = arms.n, dim = arms.dim, stride = arms.stride;
    const double* v = arms.v.data();
    NeighborBand squares(n, n <= FEW_TO_ORDER ? n : NEXT);
    for (i64 r = 0; r + 1 < n; r++) kernels->squared_widths(v, stride, dim, r, r + 1, squares.stop(r), squares.of(r));
    AlignedDoubles pulled(dim * stride), matrix(dim * dim);
    pull(v, stride, dim, arms.u.data(), n, {arms.u.data(), n, top}, squares, pulled.data());
    multiply_rows(v, pulled.data(), stride, dim, n, matrix.data());
    kernels->multiply_symmetric(matrix.data(), dim, v, stride, n, pulled.data());
    BestRankingPair best(link, constraints, lots);
    meet_in_band(arms.order, arms.u.data(), v, pulled.data(), stride, dim, squares, best, [](i64, i64) { return 1.0; });
    if (n > FEW_TO_ORDER) meet_far_out(arms, pulled.data(), best);
    return best.found().first >= 0 ? best.found() : first_pair(n, constraints);
}

FoundPair best_ranking_pair(ArmEffectsView& view, Link link, i64 top, const ArmTable& table) {
    i64 n = view.n();
    if (n == 1) return {0, 0, 0.0};
    PairConstraints constraints = of_different(table.constraints());
    bool few = n <= FEW_FREE_TO_ORDER;
    std::vector<u64> lots = lots_of(table.ids, n);
    SortedEffects arms(view, few ? n : NEXT, lots);
    PairUncertainty open(arms.u.data(), n, top);
    BestRankingPair best(link, constraints, lots);
    few ? meet_all(arms, open, best) : meet_neighbours(arms, open, best);
    return best.found().first >= 0 ? best.found() : first_pair(n, constraints);
}

}  // namespace duelist
