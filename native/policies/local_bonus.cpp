#include "policies/local_bonus.hpp"

#include "search/pruned_search.hpp"

namespace duelist {

namespace {

constexpr double ROUNDING = 1e-12;
// Exponent of the slope, which reduces the bonus of pairs with a nearly certain outcome.
constexpr double CERTAINTY = 0.2;
constexpr int MAX_GUESSES = 5;

bool comes_first(i64 i, i64 j, const FoundPair& found) {
    return std::pair(i, j) < std::pair(found.first, found.second);
}

// The best pair of the arm with the largest utility, to start with.
FoundPair best_of_best_arm(const ArmView& view, i64 top, const double* squares, const double* values,
                           const PairConstraints& constraints) {
    FoundPair found = constraints.distinct ? FoundPair{-1, -1, -INF} : FoundPair{top, top, 2.0 * view.u[top]};
    for (i64 j = 0; j < view.n; j++) {
        // A self-duel has the value of a duel between equal arms; such a duel is tried only if self-duels are not
        // allowed.
        if (j == top || (squares[j] == 0.0 && !constraints.distinct) || !(values[j] > found.value)) continue;
        if (constraints.allows(top, j)) found = {std::min(top, j), std::max(top, j), values[j]};
    }
    return found;
}

// Each row is bounded first by the largest bonus; exact values are computed only if that bound reaches the best value.
FoundPair best_of_few(const ArmView& view, const LocalBonus& bonus, const PairConstraints& constraints,
                      Workspace& workspace) {
    i64 n = view.n, top = kernels->argmax(view.u, n);
    double *reach = workspace.reach.data(), *squares = workspace.line.data(), *values = workspace.near_u.data();
    const double* u = view.u;
    kernels->squared_widths(view.v, view.stride, view.dim, top, 0, n, reach);
    double most = bonus.radius(4.0 * reach[kernels->argmax(reach, n)], 0.0);
    bonus.values(u[top], u, reach, values, n);
    FoundPair found = best_of_best_arm(view, top, reach, values, constraints);
    kernels->add_utilities(0.0, u, most, reach, n);
    double farthest = reach[kernels->argmax(reach, n)];
    double floor = found.value - farthest - ROUNDING * (std::fabs(found.value) + std::fabs(farthest));
    if (found.first < 0) floor = -INF;
    for (i64 i = 0; i + 1 < n; i++) {
        if (reach[i] < floor || i == top) continue;
        i64 count = n - i - 1;
        kernels->squared_widths(view.v, view.stride, view.dim, i, i + 1, n, squares);
        std::copy(squares, squares + count, values);
        kernels->add_utilities(u[i], u + i + 1, most, values, count);
        if (values[kernels->argmax(values, count)] < found.value) continue;
        bonus.values(u[i], u + i + 1, squares, values, count);
        for (i64 j = i + 1; j < n; j++) {
            double value = values[j - i - 1];
            if (value < found.value || j == top || (squares[j - i - 1] == 0.0 && !constraints.distinct)) continue;
            bool better = value > found.value || (value == found.value && comes_first(i, j, found));
            if (better && constraints.allows(i, j)) found = {i, j, value};
        }
    }
    return found;
}

// The best of some good pairs, which is not always the best of all. They are: all pairs of the arm with the largest
// utility, and the best pair for one fixed radius, first that of the widest pair (an upper bound), then that of the
// pair found, and so on a few times. Each is found by a pruned search.
FoundPair best_of_many(const ArmView& view, const LocalBonus& bonus, const PairConstraints& constraints,
                       Workspace& workspace) {
    i64 n = view.n, top = kernels->argmax(view.u, n);
    double* reach = workspace.reach.data();
    kernels->squared_widths(view.v, view.stride, view.dim, top, 0, n, reach);
    double radius = bonus.radius(4.0 * reach[kernels->argmax(reach, n)], 0.0);
    double* values = workspace.near_u.data();
    bonus.values(view.u[top], view.u, reach, values, n);
    FoundPair found = best_of_best_arm(view, top, reach, values, constraints);
    i64 i = top, j = top;
    for (int guess = 0; guess < MAX_GUESSES && radius > 0.0; guess++) {  // a radius of 0 leaves no bonus
        i64 first = i, second = j;
        SearchResult good = search_best(view, radius, constraints);
        if (!good.found()) break;
        i = good.first;
        j = good.second;
        if (i == j || (i == first && j == second)) break;
        double width = (good.value - view.u[i] - view.u[j]) / radius, square = width * width;
        double value = view.u[i] + view.u[j] + width * bonus.radius(square, view.u[i] - view.u[j]);
        if (found.first < 0 || value > found.value) found = {i, j, value};
        radius = bonus.radius(square, view.u[i] - view.u[j]);
    }
    if (found.first < 0) {  // the arm of largest utility has no allowed partner
        SearchResult good = search_best(view, 0.0, constraints);
        found = {good.first, good.second, good.value};
    }
    return found;
}

}  // namespace

double LocalBonus::radius(double square, double gap) const {
    return with_link(link, [&](auto l) {
        double there = l.slope(gap);
        double rounds = log1p(horizon * there * square);
        double boundary = std::max(rounds - log1p(rounds), 0.0);
        return std::sqrt(stretch * pow_unit(there / l.slope(0.0), CERTAINTY) * boundary);
    });
}

void LocalBonus::values(double own, const double* u, const double* squares, double* out, i64 n) const {
    if (link == Link::logistic) return kernels->local_pair_values(own, u, squares, stretch, horizon, out, n);
    for (i64 j = 0; j < n; j++) out[j] = own + u[j] + std::sqrt(squares[j]) * radius(squares[j], own - u[j]);
}

FoundPair best_local_pair(const ArmView& view, const LocalBonus& bonus, const PairConstraints& constraints,
                          Workspace& workspace) {
    if (view.n >= MANY_ARMS) return best_of_many(view, bonus, constraints, workspace);
    return best_of_few(view, bonus, constraints, workspace);
}

}  // namespace duelist
