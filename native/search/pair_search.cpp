#include "search/pair_search.hpp"

#include "search/pruned_search.hpp"

namespace duelist {

namespace {

constexpr double ROUNDING = 1e-12;  // thousands of times the rounding error of a sum of some hundred terms
constexpr i64 FEW = 6;              // up to this number of arms, trying all pairs is faster than pruning first

FoundPair to_pair(const SearchResult& searched) { return {searched.first, searched.second, searched.value}; }

// Call visit(i, j, |v_i - v_j|^2) for every pair i < j, row by row.
template <class Visit>
void every_pair(const ArmView& view, Workspace& workspace, Visit&& visit) {
    double* line = workspace.line.data();
    for (i64 i = 0; i + 1 < view.n; i++) {
        kernels->squared_widths(view.v, view.stride, view.dim, i, i + 1, view.n, line);
        for (i64 j = i + 1; j < view.n; j++) visit(i, j, line[j - i - 1]);
    }
}

FoundPair best_of_allowed(const ArmView& view, double radius, const PairConstraints& constraints,
                          Workspace& workspace) {
    FoundPair found = NO_PAIR;
    if (!constraints.distinct) {
        i64 top = kernels->argmax(view.u, view.n);
        found = {top, top, view.u[top] + view.u[top]};
    }
    every_pair(view, workspace, [&](i64 i, i64 j, double square) {
        double value = (view.u[i] + view.u[j]) + radius * std::sqrt(square);
        if ((found.first < 0 || value > found.value) && constraints.allows(i, j)) found = {i, j, value};
    });
    return found;
}

FoundPair widest_of_allowed(const ArmView& view, const PairConstraints& constraints, Workspace& workspace) {
    FoundPair found = constraints.distinct ? NO_PAIR : FoundPair{0, 0, 0.0};
    every_pair(view, workspace, [&](i64 i, i64 j, double square) {
        if ((found.first < 0 || square > found.value) && constraints.allows(i, j)) found = {i, j, square};
    });
    return found;
}

}  // namespace

FoundPair first_pair(i64 n, const PairConstraints& constraints) {
    for (i64 i = 0; i + 1 < n; i++)
        for (i64 j = i + 1; j < n; j++)
            if (constraints.allows(i, j)) return {i, j, 0.0};
    return NO_PAIR;
}

FoundPair best_pair(const ArmView& view, double radius, const PairConstraints& constraints, Workspace& workspace) {
    if (view.n >= MANY_ARMS) return to_pair(search_best(view, radius, constraints));
    if (!constraints.unconstrained()) return best_of_allowed(view, radius, constraints, workspace);
    if (view.n <= FEW)
        return kernels->best_of_all_pairs(view.u, view.v, view.n, view.stride, view.dim, radius, workspace.line.data());
    i64* kept = workspace.kept.data();
    i64 count = kernels->best_pair_candidates(view.u, view.v, view.n, view.stride, view.dim, radius,
                                              workspace.reach.data(), workspace.line.data(), kept);
    double *near_u = workspace.near_u.data(), *near = workspace.near.data();
    for (i64 a = 0; a < count; a++) near_u[a] = view.u[kept[a]];
    kernels->pick_columns(view.v, view.stride, view.dim, kept, count, near, padded(count));
    FoundPair found =
        kernels->best_of_all_pairs(near_u, near, count, padded(count), view.dim, radius, workspace.line.data());
    return {kept[found.first], kept[found.second], found.value};
}

// With a the arm farthest from the first one, b the arm farthest from a, and c their midpoint, the width of a pair is
// at most |v_i - c| + |v_j - c|, and that of (a, b) is a lower bound of the maximum.
FoundPair widest_pair(const ArmView& view, const PairConstraints& constraints, Workspace& workspace) {
    i64 n = view.n, dim = view.dim;
    if (n >= MANY_ARMS) {
        SearchResult found = search_widest(view, constraints);
        if (found.found()) return to_pair(found);
        return constraints.distinct ? first_pair(n, constraints) : FoundPair{0, 0, 0.0};
    }
    if (!constraints.unconstrained()) return widest_of_allowed(view, constraints, workspace);
    double *line = workspace.line.data(), *reach = workspace.reach.data();
    if (n <= FEW) return kernels->widest_of_all_pairs(view.v, n, view.stride, dim, line);
    kernels->squared_widths(view.v, view.stride, dim, 0, 0, n, line);
    i64 a = kernels->argmax(line, n);
    kernels->squared_widths(view.v, view.stride, dim, a, 0, n, line);
    i64 b = kernels->argmax(line, n);
    double bound = std::sqrt(line[b]);
    double* center = workspace.noise.data();
    for (i64 k = 0; k < dim; k++) center[k] = 0.5 * (view.v[k * view.stride + a] + view.v[k * view.stride + b]);
    kernels->squared_distances(view.v, view.stride, dim, center, n, reach);
    double largest = std::sqrt(reach[kernels->argmax(reach, n)]);
    double floor = std::max(bound - largest - ROUNDING * largest, 0.0);
    floor *= floor;
    i64* kept = workspace.kept.data();
    i64 count = 0;
    for (i64 j = 0; j < n; j++) {
        kept[count] = j;
        count += reach[j] >= floor;
    }
    // The given columns may be in workspace.near already, so the candidates are copied elsewhere.
    double* buffer = view.v == workspace.near.data() ? workspace.v.data() : workspace.near.data();
    kernels->pick_columns(view.v, view.stride, dim, kept, count, buffer, padded(count));
    FoundPair found = kernels->widest_of_all_pairs(buffer, count, padded(count), dim, line);
    return {kept[found.first], kept[found.second], found.value};
}

bool any_wider(const ArmView& view, double threshold, const PairConstraints& constraints, Workspace& workspace) {
    double limit = threshold * threshold;
    if (view.n >= MANY_ARMS) return search_wider(view, threshold, constraints).found();
    if (!constraints.excluded) {
        double* line = workspace.line.data();
        kernels->squared_widths(view.v, view.stride, view.dim, 0, 0, view.n, line);
        double farthest = line[kernels->argmax(line, view.n)];
        if (farthest > limit) return true;
        if (4.0 * farthest * (1.0 + ROUNDING) <= limit) return false;
    }
    FoundPair widest = widest_pair(view, constraints, workspace);
    return widest.first >= 0 && widest.value > limit;
}

// Try arms by decreasing u, until the remaining ones cannot reach the best sum.
FoundPair best_wide_pair(const ArmView& view, double threshold, const PairConstraints& constraints,
                         Workspace& workspace) {
    if (view.n >= MANY_ARMS) return to_pair(search_best_wide(view, threshold, constraints));
    i64 n = view.n;
    const double* u = view.u;
    double limit = threshold * threshold, best = -INF, best_square = 0.0;
    double *left = workspace.near_u.data(), *line = workspace.line.data();
    std::copy(u, u + n, left);
    FoundPair found = NO_PAIR;
    i64 i = kernels->argmax(left, n);
    for (i64 turn = 0; turn + 1 < n; turn++) {
        left[i] = -INF;
        i64 runner_up = kernels->argmax(left, n);
        if (u[i] + u[runner_up] < best) break;
        kernels->squared_widths(view.v, view.stride, view.dim, i, 0, n, line);
        for (i64 j = 0; j < n; j++) {
            if (!(line[j] > limit) || left[j] == -INF) continue;
            double value = u[i] + u[j];
            if (value < best || !constraints.allows(i, j)) continue;
            i64 low = std::min(i, j), high = std::max(i, j);
            bool wider = line[j] > best_square ||
                         (line[j] == best_square && std::pair(low, high) < std::pair(found.first, found.second));
            if (value > best || wider) {
                found = {low, high, value};
                best = value;
                best_square = line[j];
            }
        }
        i = runner_up;
    }
    return found;
}

FoundPair random_wide_pair(const ArmView& view, double threshold, const PairConstraints& constraints, Sfc64& random,
                           Workspace& workspace) {
    if (view.n >= MANY_ARMS) return to_pair(search_random_wide(view, threshold, constraints, random));
    double limit = threshold * threshold;
    i64 wide = 0;
    every_pair(view, workspace,
               [&](i64 i, i64 j, double square) { wide += square > limit && constraints.allows(i, j); });
    if (wide == 0) return NO_PAIR;
    i64 position = random.below(wide);
    FoundPair found = NO_PAIR;
    every_pair(view, workspace, [&](i64 i, i64 j, double square) {
        if (square > limit && constraints.allows(i, j) && position-- == 0) found = {i, j, square};
    });
    return found;
}

i64 challenger(const ArmView& view, i64 champion, double bonus, const PairConstraints& constraints,
               Workspace& workspace) {
    double* values = workspace.line.data();
    kernels->squared_widths(view.v, view.stride, view.dim, champion, 0, view.n, values);
    kernels->add_utilities(0.0, view.u, bonus, values, view.n);
    i64 best = constraints.distinct ? -1 : champion;
    double top = constraints.distinct ? -INF : view.u[champion];
    for (i64 j = 0; j < view.n; j++)
        if ((best < 0 || values[j] > top) && j != champion && constraints.allows(champion, j)) {
            best = j;
            top = values[j];
        }
    return best;
}

// The best arm dominates most of the others, so it is tried first. An arm that it dominates clearly need not be tried
// as a rival, because the best arm dominates whatever that rival would.
i64 undominated(const ArmView& view, double radius, i64* out, Workspace& workspace) {
    i64 n = view.n;
    const double* u = view.u;
    if (n >= MANY_ARMS) return search_undominated(view, radius, out);
    double *line = workspace.line.data(), *margin = workspace.reach.data();
    i64* rivals = workspace.kept.data();
    i64 top = kernels->argmax(u, n);
    kernels->squared_widths(view.v, view.stride, view.dim, top, 0, n, line);
    double largest = kernels->largest_magnitude(u, n);
    for (i64 j = 0; j < n; j++) {
        line[j] = radius * std::sqrt(line[j]);
        margin[j] = u[j] - u[top] + line[j];
        largest = std::max(largest, line[j]);
    }
    double slack = -ROUNDING * largest;
    i64 n_rivals = 0;
    for (i64 j = 0; j < n; j++) {
        rivals[n_rivals] = j;
        n_rivals += margin[j] >= slack;
    }
    i64 count = 0;
    for (i64 a = 0; a < n_rivals; a++) {
        i64 i = rivals[a];
        bool survives = margin[i] >= 0.0;
        for (i64 b = 0; survives && b < n_rivals; b++) {
            i64 j = rivals[b];
            survives = !(u[j] > u[i] && u[i] - u[j] + radius * std::sqrt(view.squared_width(j, i)) < 0.0);
        }
        if (survives) out[count++] = i;
    }
    return count;
}

}  // namespace duelist
