// The counts of votes by pair in snapshots.
#pragma once

#include "bindings/arrays.hpp"
#include "engine/live_policy.hpp"

namespace duelist {

inline ArrayDict write_pair_counts(const PairCounts& counts) {
    std::vector<u64> first, second;
    std::vector<double> mass, wins;
    for (const PairCounts::PairCount& pair : counts.pairs()) {
        first.push_back(pair.arms.first);
        second.push_back(pair.arms.second);
        mass.push_back(pair.mass);
        wins.push_back(pair.wins);
    }
    nb::dict out;
    out["first"] = to_numpy(first);
    out["second"] = to_numpy(second);
    out["mass"] = to_numpy(mass);
    out["wins"] = to_numpy(wins);
    return ArrayDict(out);
}

inline PairCounts read_pair_counts(const nb::dict& arrays, i64 max_pairs) {
    require(nb::len(arrays) == 4, "Pair counts consist of the arrays first, second, mass and wins.");
    i64 n = length_of(arrays, "first");
    auto first = read_array<u64>(arrays, "first", {n}), second = read_array<u64>(arrays, "second", {n});
    auto mass = read_finite(arrays, "mass", {n}, 0.0), wins = read_finite(arrays, "wins", {n}, 0.0);
    PairCounts counts(max_pairs);
    for (std::size_t k = 0; k < first.size(); k++) {
        require(mass[k] > 0.0, "A counted pair has no votes.");
        require(wins[k] <= mass[k], "A counted pair has more wins than votes.");
        require(first[k] < second[k], "The arms of a counted pair are in the wrong order.");
        counts.add({{first[k], second[k]}, mass[k], wins[k]});
    }
    require(counts.pairs().size() == first.size(), "A pair is counted twice, or there are too many pairs.");
    return counts;
}

}  // namespace duelist
