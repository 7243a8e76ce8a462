// Votes by pair of arms, whoever of them was named first.
//
// An estimator keeps differences of features, or nothing, and with that cannot say whether features explain the votes: pairs may have the
// same difference. Where few arms are compared again and again, how often each pair was won is little to remember, and tells. Arms
// are known by their fingerprints, so that what is remembered does not grow with the features. More pairs than MOST are many arms, or
// arms that change: then all are dropped for good.
#pragma once

#include <unordered_map>

#include "numerics/fingerprint.hpp"

namespace duelist {

// Fingerprints of the two arms of a duel; 0 and 0: nobody knows who they were.
struct DuelFingerprints {
    u64 first = 0, second = 0;

    bool known() const { return first != 0 || second != 0; }
};

class PairCounts {
public:
    static constexpr i64 MOST = 2048;        // every pair of 64 arms is 2,016
    static constexpr i64 MAX_EXACT = 44850;  // every pair of 300, where the estimator keeps as many rows

    // Who of a pair has the smaller fingerprint is the first, and won `wins` of `mass`.
    struct PairCount {
        DuelFingerprints arms;
        double mass, wins;
    };

    explicit PairCounts(i64 most = MOST) : most_(most) {}

    // Whether every vote so far is counted here.
    bool whole() const { return whole_; }
    const std::vector<PairCount>& pairs() const { return pairs_; }

    void add(PairCount vote) {
        if (!whole_) return;
        if (vote.arms.first > vote.arms.second) {
            std::swap(vote.arms.first, vote.arms.second);
            vote.wins = vote.mass - vote.wins;
        }
        auto [found, is_new] = place_.try_emplace(mix(mix(vote.arms.first) ^ vote.arms.second), pairs_.size());
        if (!is_new) {
            pairs_[found->second].mass += vote.mass;
            pairs_[found->second].wins += vote.wins;
        } else if (vote.arms.known() && static_cast<i64>(pairs_.size()) < most_) {
            pairs_.push_back(vote);
        } else {
            drop();
        }
    }

    // Not every vote is known: nothing can be said of them.
    void drop() {
        whole_ = false;
        pairs_ = {};
        place_ = {};
    }

private:
    i64 most_;
    bool whole_ = true;
    std::vector<PairCount> pairs_;  // the first that was asked first
    std::unordered_map<u64, std::size_t> place_;
};

}  // namespace duelist
