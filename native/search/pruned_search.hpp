// Exact searches over the pairs of thousands of arms, which evaluate only a small part of the pairs.
//
// With r_i the distance of arm i from any center, u_i + u_j + radius |v_i - v_j| <= s_i + s_j for s_i = u_i + radius
// r_i. Hill climbing among the arms of largest s finds a good pair. Arms that cannot reach its value with any partner
// are pruned. The others are sorted by s and compared in blocks (`sign_filter.hpp`) until s_i + s_j falls below the
// best value. All bounds allow for rounding, and values are computed by the expressions of `pair_search.cpp`, so the
// results are bit for bit those of trying all pairs, ties included.
#pragma once

#include "numerics/random.hpp"
#include "search/arm_table.hpp"

namespace duelist {

struct SearchResult {
    i64 first, second;
    double value;
    i64 examined;  // number of pairs considered
    bool found() const { return first >= 0; }
};

// `slack` scales the proven rounding allowance; tests use values other than 1.

// argmax over allowed i <= j of u_i + u_j + radius |v_i - v_j|, and the maximum.
SearchResult search_best(const ArmView& view, double radius, const PairConstraints& constraints, double slack = 1.0);
// The widest allowed pair of different arms, with its squared width as value; (-1, -1) if all widths are zero.
SearchResult search_widest(const ArmView& view, const PairConstraints& constraints, double slack = 1.0);
// Any allowed pair wider than the threshold, with its squared width as value; (-1, -1) if there is none.
SearchResult search_wider(const ArmView& view, double threshold, const PairConstraints& constraints,
                          double slack = 1.0);
// Among allowed pairs wider than the threshold, the one of largest u_i + u_j, then the wider; (-1, -1) if there is
// none.
SearchResult search_best_wide(const ArmView& view, double threshold, const PairConstraints& constraints,
                              double slack = 1.0);
// A uniform draw from the allowed pairs wider than the threshold; (-1, -1) if there is none.
SearchResult search_random_wide(const ArmView& view, double threshold, const PairConstraints& constraints,
                                Sfc64& random, double slack = 1.0);

// List the arms i with u_i - u_j + radius |v_i - v_j| >= 0 for all j in `kept`; return their number. `examined` may be
// null.
i64 search_undominated(const ArmView& view, double radius, i64* kept, i64* examined = nullptr, double slack = 1.0);

}  // namespace duelist
