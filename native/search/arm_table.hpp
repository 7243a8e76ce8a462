// The arms on the table, and which pairs of them may be asked.
#pragma once

#include <algorithm>
#include <vector>

#include "numerics/buffer.hpp"

namespace duelist {

// From so many arms on the pruned search is faster than trying all pairs, whatever the dimension.
inline constexpr i64 MANY_ARMS = 256;

// Unordered pairs of different arms.
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

// Which pairs may be asked: of the arms `names` lists, or of all.
struct Limits {
    bool distinct = false;         // an arm may not meet itself
    const PairSet* out = nullptr;  // pairs that are out with somebody
    const i64* names = nullptr;

    bool free() const { return !distinct && !out; }
    bool allows(i64 i, i64 j) const {
        if (i == j) return !distinct;
        return !out || !out->has(names ? names[i] : i, names ? names[j] : j);
    }
};

struct Table {
    const double* arms;  // (n, dim)
    i64 n, dim;
    bool distinct = false;
    const PairSet* out = nullptr;

    const double* arm(i64 k) const { return arms + k * dim; }
    // A single arm can only meet itself.
    Limits limits(const i64* names = nullptr) const { return {distinct && n > 1, out, names}; }
    bool has_other_partner(i64 arm) const { return n > 1 && (!out || out->partners_of(arm) < n - 1); }
    // Pairs of different arms that may be asked.
    i64 open_pairs() const { return n * (n - 1) / 2 - (out ? out->size() : 0); }
};

// Arms of a decision, as rules look at them: utilities u and whitened columns v.
struct View {
    const double* u;
    const double* v;
    i64 n, stride, dim;

    double square(i64 i, i64 j) const {
        double total = 0.0;
        for (i64 k = 0; k < dim; k++) {
            double gap = v[k * stride + j] - v[k * stride + i];
            total += gap * gap;
        }
        return total;
    }
};

}  // namespace duelist
