// Votes by unordered pair of arms.
//
// An estimator keeps differences of features at most, and different pairs may share a difference. Counts of votes by
// pair show whether features explain the votes. Arms are identified by fingerprints, so memory does not grow with the
// number of features. Above a maximum number of pairs the counts are discarded for good: arms are then many, or change
// from round to round.
#pragma once

#include <unordered_map>

#include "numerics/fingerprint.hpp"

namespace duelist {

// Fingerprints of the two arms of a duel; both are 0 if unknown.
struct DuelFingerprints {
    u64 first = 0, second = 0;

    bool given() const { return first != 0 || second != 0; }
};

class PairCounts {
public:
    static constexpr i64 MAX_PAIRS = 2048;  // all pairs of 64 arms are 2,016
    // All pairs of 300 arms. The exact estimator stores one row per pair anyway.
    static constexpr i64 MAX_EXACT_PAIRS = 44850;

    // The arm with the smaller fingerprint comes first, and won `wins` of `mass`.
    struct PairCount {
        DuelFingerprints arms;
        double mass, wins;
    };

    explicit PairCounts(i64 max_pairs = MAX_PAIRS) : max_pairs_(max_pairs) {}

    // Whether every vote so far is counted.
    bool complete() const { return complete_; }
    const std::vector<PairCount>& pairs() const { return pairs_; }

    void add(PairCount vote) {
        if (!complete_) return;
        if (vote.arms.first > vote.arms.second) {
            std::swap(vote.arms.first, vote.arms.second);
            vote.wins = vote.mass - vote.wins;
        }
        auto [found, is_new] = index_.try_emplace(mix(mix(vote.arms.first) ^ vote.arms.second), pairs_.size());
        if (!is_new) {
            pairs_[found->second].mass += vote.mass;
            pairs_[found->second].wins += vote.wins;
        } else if (vote.arms.given() && static_cast<i64>(pairs_.size()) < max_pairs_) {
            pairs_.push_back(vote);
        } else {
            discard();
        }
    }

    // Some vote has unknown arms, or there are too many pairs.
    void discard() {
        complete_ = false;
        pairs_ = {};
        index_ = {};
    }

private:
    i64 max_pairs_;
    bool complete_ = true;
    std::vector<PairCount> pairs_;  // in the order of their first duels
    std::unordered_map<u64, std::size_t> index_;
};

}  // namespace duelist
