// Exact searches over the pairs of very many arms: the answers of trying all pairs, without looking at every pair.
//
// With r_i the distance of arm i from any centre, u_i + u_j + radius |v_i - v_j| <= s_i + s_j for s_i = u_i + radius r_i. A good pair is
// found by climbing among the arms of largest s; arms that no partner can lift to its value are dropped; the rest, sorted
// by s, meet in blocks (`filters.hpp`) until s_i + s_j falls below the best value. Every bound allows for rounding and values
// are computed by the expressions of `pairs.cpp`, so answers, ties included, are the same to the last bit.
#pragma once

#include "numerics/random.hpp"
#include "search/arm_table.hpp"

namespace duelist {

struct SearchResult {
    i64 first, second;
    double value;
    i64 examined;  // how many pairs were looked at
    bool found() const { return first >= 0; }
};

// `slack` times the proven allowance for rounding is used: 1, or other values for tests.

// argmax over allowed i <= j of u_i + u_j + radius |v_i - v_j|, and the maximum.
SearchResult search_best(const ArmView& view, double radius, const PairConstraints& constraints, double slack = 1.0);
// The widest allowed pair of different arms, and its squared width; (-1, -1): all widths are zero.
SearchResult search_widest(const ArmView& view, const PairConstraints& constraints, double slack = 1.0);
// Some allowed pair wider than the threshold, and its squared width; (-1, -1) if there is none.
SearchResult search_wider(const ArmView& view, double threshold, const PairConstraints& constraints,
                          double slack = 1.0);
// Among allowed pairs wider than the threshold the largest u_i + u_j, then the wider; (-1, -1) if there is none.
SearchResult search_best_wide(const ArmView& view, double threshold, const PairConstraints& constraints,
                              double slack = 1.0);
// A pair drawn uniformly from the allowed ones wider than the threshold; (-1, -1) if there are none.
SearchResult search_random_wide(const ArmView& view, double threshold, const PairConstraints& constraints,
                                Sfc64& random, double slack = 1.0);

// Arms i with u_i - u_j + radius |v_i - v_j| >= 0 for all j: listed in `kept`, counted; `examined` may be null.
i64 search_undominated(const ArmView& view, double radius, i64* kept, i64* examined = nullptr, double slack = 1.0);

}  // namespace duelist
