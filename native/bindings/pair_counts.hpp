// The counts of votes by pair in snapshots.
#pragma once

#include "bindings/arrays.hpp"
#include "engine/live_policy.hpp"

namespace duelist {

inline ArrayDict write_pair_counts(const PairCounts& counts, i64 dim) {
    std::vector<i64> first, second;
    std::vector<double> mass, wins;
    for (const PairCounts::PairCount& pair : counts.pairs()) {
        first.push_back(pair.first);
        second.push_back(pair.second);
        mass.push_back(pair.mass);
        wins.push_back(pair.wins);
    }
    nb::dict out;
    out["arms"] = to_numpy(counts.arms().data(), {counts.n_arms(), dim});
    out["first"] = to_numpy(first);
    out["second"] = to_numpy(second);
    out["mass"] = to_numpy(mass);
    out["wins"] = to_numpy(wins);
    return ArrayDict(out);
}

inline PairCounts read_pair_counts(const nb::dict& arrays, i64 dim, i64 max_pairs) {
    require(nb::len(arrays) == 5, "Pair counts consist of the arrays arms, first, second, mass and wins.");
    i64 n = length_of(arrays, "first"), n_arms = length_of(arrays, "arms");
    auto arms = read_finite(arrays, "arms", {n_arms, dim});
    auto first = read_array<i64>(arrays, "first", {n}), second = read_array<i64>(arrays, "second", {n});
    auto mass = read_finite(arrays, "mass", {n}, 0.0), wins = read_finite(arrays, "wins", {n}, 0.0);
    PairCounts counts(dim, max_pairs);
    for (i64 a = 0; a < n_arms; a++) require(counts.id_of(arms.data() + a * dim) == a, "A counted arm is there twice.");
    for (std::size_t k = 0; k < first.size(); k++) {
        require(mass[k] > 0.0, "A counted pair has no votes.");
        require(wins[k] <= mass[k], "A counted pair has more wins than votes.");
        require(0 <= first[k] && first[k] < second[k] && second[k] < n_arms, "A counted pair has invalid arms.");
        counts.add({first[k], second[k], mass[k], wins[k]});
    }
    require(counts.pairs().size() == first.size(), "A pair is counted twice, or there are too many pairs.");
    return counts;
}

}  // namespace duelist
