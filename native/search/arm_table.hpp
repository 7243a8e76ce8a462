// The arms of a round and the pairs of them that are allowed.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "numerics/buffer.hpp"

namespace duelist {

// From this number of arms on, the pruned searches are faster than trying all pairs, in any dimension.
inline constexpr i64 MANY_ARMS = 256;

// A set of unordered pairs of different arms.
class PairSet {
public:
    void add(i64 i, i64 j) { keys_.push_back(key(i, j)); }
    void seal() {
        std::sort(keys_.begin(), keys_.end());
        keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    }
    bool has(i64 i, i64 j) const { return std::binary_search(keys_.begin(), keys_.end(), key(i, j)); }
    i64 size() const { return static_cast<i64>(keys_.size()); }
    i64 partners_of(i64 arm) const {
        return std::count_if(keys_.begin(), keys_.end(), [arm](u64 pair) {
            return static_cast<i64>(pair >> 32) == arm || static_cast<i64>(pair & 0xFFFFFFFFu) == arm;
        });
    }

private:
    std::vector<u64> keys_;
    static u64 key(i64 i, i64 j) { return static_cast<u64>(std::min(i, j)) << 32 | static_cast<u64>(std::max(i, j)); }
};

// Which pairs a search may return.
struct PairConstraints {
    bool distinct = false;              // no self-duels
    const PairSet* excluded = nullptr;  // by position in the table
    const i64* positions = nullptr;     // in the table, of the arms that are searched; null: all arms in order

    bool unconstrained() const { return !distinct && !excluded; }
    bool allows(i64 i, i64 j) const {
        if (i == j) return !distinct;
        return !excluded || !excluded->has(positions ? positions[i] : i, positions ? positions[j] : j);
    }
};

// The arms of one round.
struct ArmTable {
    const double* features;  // (n, dim)
    i64 n, dim;
    bool distinct = false;
    const PairSet* excluded = nullptr;
    const i64* ids = nullptr;  // given where arms have effects

    const double* arm(i64 k) const { return features + k * dim; }
    // A single arm can only meet itself.
    PairConstraints constraints(const i64* positions = nullptr) const {
        return {distinct && n > 1, excluded, positions};
    }
    bool has_partner(i64 arm) const { return n > 1 && (!excluded || excluded->partners_of(arm) < n - 1); }
    i64 n_allowed_pairs() const {
        return n * (n - 1) / 2 - (excluded ? excluded->size() : 0);
    }  // self-duels not counted
};

// Some arms of a round by position, or all of them.
struct ArmSubset {
    const i64* positions;  // null: all arms in order
    i64 n;

    static ArmSubset all(i64 n) { return {nullptr, n}; }
    static ArmSubset of(std::span<const i64> positions) {
        return {positions.data(), static_cast<i64>(positions.size())};
    }
    // The arms listed after number k.
    static ArmSubset after(std::span<const i64> positions, i64 k) {
        return of(positions.subspan(static_cast<std::size_t>(k + 1)));
    }
    i64 arm(i64 k) const { return positions ? positions[k] : k; }
};

// Arms as selection rules see them: utilities u and whitened columns v.
struct ArmView {
    const double* u;
    const double* v;
    i64 n, stride, dim;

    double squared_width(i64 i, i64 j) const {
        double total = 0.0;
        for (i64 k = 0; k < dim; k++) {
            double gap = v[k * stride + j] - v[k * stride + i];
            total += gap * gap;
        }
        return total;
    }
};

}  // namespace duelist
