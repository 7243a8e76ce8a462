// Votes by unordered pair of arms.
//
// An estimator keeps differences of features at most, and different pairs may share a difference. Counts of votes by
// pair show whether features explain the votes. An arm gets an id with its first vote, and arms with the same features
// share one. Above a maximum number of pairs the counts are discarded for good: arms are then many, or change from round
// to round.
#pragma once

#include <unordered_map>

#include "numerics/row_hash.hpp"

namespace duelist {

class PairCounts {
public:
    static constexpr i64 MAX_PAIRS = 2048;  // all pairs of 64 arms are 2,016
    // All pairs of 300 arms. The exact estimator stores one row per pair anyway.
    static constexpr i64 MAX_EXACT_PAIRS = 44850;

    // Ids of two arms, the smaller one first, which won `wins` of `mass`.
    struct PairCount {
        i64 first, second;
        double mass, wins;
    };

    explicit PairCounts(i64 dim = 0, i64 max_pairs = MAX_PAIRS) : dim_(dim), max_pairs_(max_pairs) {}

    // Whether every vote so far is counted.
    bool complete() const { return complete_; }
    const std::vector<PairCount>& pairs() const { return pairs_; }
    // The features of the arms (n_arms, dim), by id.
    const std::vector<double>& arms() const { return arms_; }
    i64 n_arms() const { return static_cast<i64>(ids_.size()); }

    // The id of an arm, a new one if it has none.
    i64 id_of(const double* features) {
        u64 hash = row_hash(features, dim_);
        auto [from, to] = ids_.equal_range(hash);
        for (auto known = from; known != to; ++known)
            if (std::equal(features, features + dim_, arms_.data() + known->second * dim_)) return known->second;
        i64 id = n_arms();
        arms_.insert(arms_.end(), features, features + dim_);
        ids_.emplace(hash, id);
        return id;
    }

    void add(PairCount vote) {
        if (!complete_) return;
        if (vote.first > vote.second) vote = {vote.second, vote.first, vote.mass, vote.mass - vote.wins};
        u64 pair = static_cast<u64>(vote.first) << 32 | static_cast<u64>(vote.second);
        auto [found, is_new] = index_.try_emplace(pair, pairs_.size());
        if (!is_new) {
            pairs_[found->second].mass += vote.mass;
            pairs_[found->second].wins += vote.wins;
        } else if (static_cast<i64>(pairs_.size()) < max_pairs_) {
            pairs_.push_back(vote);
        } else {
            discard();
        }
    }

    // Some vote is on unknown arms, or there are too many pairs.
    void discard() {
        complete_ = false;
        pairs_ = {};
        arms_ = {};
        index_ = {};
        ids_ = {};
    }

private:
    i64 dim_, max_pairs_;
    bool complete_ = true;
    std::vector<PairCount> pairs_;  // in the order of their first votes
    std::vector<double> arms_;
    std::unordered_map<u64, std::size_t> index_;
    std::unordered_multimap<u64, i64> ids_;  // by hash of the features
};

}  // namespace duelist
