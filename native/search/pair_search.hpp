// Searches over pairs of whitened arms, and for undominated arms.
//
// The width of a pair is the distance of its columns. Every search returns what trying the pairs i < j row by row would
// return, with ties going to the first. Arms are pruned only if a bound that allows for rounding shows that no pair
// with them can win. From MANY_ARMS arms on, `pruned_search.hpp` takes over. If there is no pair, first == -1.
#pragma once

#include "numerics/random.hpp"
#include "search/workspace.hpp"

namespace duelist {

inline constexpr FoundPair NO_PAIR{-1, -1, 0.0};

// argmax over allowed i <= j of u_i + u_j + radius |v_i - v_j|, with the maximum as value.
FoundPair best_pair(const ArmView& view, double radius, const PairConstraints& constraints, Workspace& workspace);

// The widest allowed pair, with its squared width as value. If all arms are equal: an arm against itself, or the first
// allowed pair.
FoundPair widest_pair(const ArmView& view, const PairConstraints& constraints, Workspace& workspace);

// Whether some allowed pair of different arms is wider than the threshold.
bool any_wider(const ArmView& view, double threshold, const PairConstraints& constraints, Workspace& workspace);

// Among allowed pairs wider than the threshold, the one of largest u_i + u_j; ties go to the wider pair, then the
// first.
FoundPair best_wide_pair(const ArmView& view, double threshold, const PairConstraints& constraints,
                         Workspace& workspace);

// Draw uniformly from the allowed pairs wider than the threshold.
FoundPair random_wide_pair(const ArmView& view, double threshold, const PairConstraints& constraints, Sfc64& random,
                           Workspace& workspace);

// argmax over allowed partners j of u_j + bonus |v_j - v_champion|; ties go to the champion itself, then the first.
i64 challenger(const ArmView& view, i64 champion, double bonus, const PairConstraints& constraints,
               Workspace& workspace);

// List the arms i with u_i - u_j + radius |v_i - v_j| >= 0 for all j in `out`; return their number.
i64 undominated(const ArmView& view, double radius, i64* out, Workspace& workspace);

// The first allowed pair of different arms in row order.
FoundPair first_pair(i64 n, const PairConstraints& constraints);

// argmax of value(i, j, |v_i - v_j|^2) over allowed pairs i < j with at least one arm `inside`; ties go to the first.
template <class Value>
FoundPair best_pair_with(const ArmView& view, const std::vector<bool>& inside, const PairConstraints& constraints,
                         Workspace& workspace, Value&& value) {
    FoundPair found = NO_PAIR;
    double* line = workspace.line.data();
    for (i64 i = 0; i + 1 < view.n; i++) {
        kernels->squared_widths(view.v, view.stride, view.dim, i, i + 1, view.n, line);
        for (i64 j = i + 1; j < view.n; j++) {
            if (!(inside[static_cast<std::size_t>(i)] || inside[static_cast<std::size_t>(j)])) continue;
            double here = value(i, j, line[j - i - 1]);
            if ((found.first < 0 || here > found.value) && constraints.allows(i, j)) found = {i, j, here};
        }
    }
    return found;
}

// A mask of n arms, true for the listed ones.
inline std::vector<bool> membership(const ArmSubset& listed, i64 n) {
    std::vector<bool> inside(static_cast<std::size_t>(n), false);
    for (i64 k = 0; k < listed.n; k++) inside[static_cast<std::size_t>(listed.arm(k))] = true;
    return inside;
}

}  // namespace duelist
