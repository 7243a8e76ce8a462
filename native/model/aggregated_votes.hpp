// The data of one exact estimator: distinct differences z with mass W = sum w^2 and wins O = sum w^2 o.
//
// A difference seen again adds to its row, so K fixed arms need at most K(K-1)/2 rows however long they are played. z and
// -z share a row: a difference is stored with its first nonzero entry positive, and the outcome is turned with it.
// Rows are columns of z, each feature one contiguous stretch, so that a step of a solver is a few long vector operations.
#pragma once

#include "numerics/fingerprint.hpp"

namespace duelist {

class AggregatedVotes {
public:
    explicit AggregatedVotes(i64 dim) : dim_(dim) {}

    i64 count() const { return count_; }
    i64 dim() const { return dim_; }
    // Rows that loops run over: a multiple of 16, those past the last without mass and without a difference.
    i64 padded_count() const { return (count_ + PAD - 1) / PAD * PAD; }
    i64 stride() const { return capacity_ + PAD; }
    const double* z() const { return z_.data(); }
    const double* mass() const { return mass_.data(); }
    const double* wins() const { return wins_.data(); }
    double entry(i64 row, i64 feature) const { return z_[feature * stride() + row]; }

    // One more outcome of a difference, whose first nonzero entry is positive.
    void add(const double* z, double mass, double wins) {
        i64 row = row_of(z);
        mass_[row] += mass;
        wins_[row] += wins;
    }

    // Room for so many rows in all, made at once.
    void reserve(i64 rows) {
        i64 wanted = capacity_ ? capacity_ : FIRST;
        while (wanted < rows) wanted *= 2;
        if (wanted > capacity_) grow(wanted);
    }

private:
    static constexpr i64 PAD =
        16;  // also keeps the same row of every feature from competing for one place in the cache
    static constexpr i64 FIRST = 64;

    i64 dim_, count_ = 0, capacity_ = 0;
    AlignedDoubles z_, mass_, wins_;
    std::vector<i64> table_;  // open addressing: row + 1, or 0 where empty; twice as many places as rows

    // Where the search for z starts in the table.
    i64 slot_of(const double* z, i64 step) const {
        return static_cast<i64>(fingerprint(z, dim_, step) & (table_.size() - 1));
    }

    i64 next_slot(i64 slot) const { return (slot + 1) & static_cast<i64>(table_.size() - 1); }

    i64 row_of(const double* z) {
        if (count_ == capacity_) reserve(count_ + 1);
        i64 slot = slot_of(z, 1);
        for (; table_[slot] != 0; slot = next_slot(slot))
            if (same(table_[slot] - 1, z)) return table_[slot] - 1;
        table_[slot] = ++count_;
        for (i64 k = 0; k < dim_; k++) z_[k * stride() + count_ - 1] = z[k];
        return count_ - 1;
    }

    bool same(i64 row, const double* z) const {
        for (i64 k = 0; k < dim_; k++)
            if (entry(row, k) != z[k]) return false;
        return true;
    }

    void grow(i64 capacity) {
        i64 stride = capacity + PAD;
        AlignedDoubles z(dim_ * stride), mass(stride), wins(stride);
        for (i64 s = 0; s < count_; s++) {
            mass[s] = mass_[s];
            wins[s] = wins_[s];
        }
        for (i64 k = 0; k < dim_; k++)
            for (i64 s = 0; s < count_; s++) z[k * stride + s] = entry(s, k);
        z_ = std::move(z);
        mass_ = std::move(mass);
        wins_ = std::move(wins);
        capacity_ = capacity;
        table_.assign(static_cast<std::size_t>(2 * capacity), 0);
        for (i64 row = 0; row < count_; row++) {
            i64 slot = slot_of(z_.data() + row, this->stride());
            while (table_[slot] != 0) slot = next_slot(slot);
            table_[slot] = row + 1;
        }
    }
};

}  // namespace duelist
