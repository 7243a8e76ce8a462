// Votes aggregated by difference: distinct differences z, each with mass W = sum w^2 and wins O = sum w^2 o.
//
// Repeated differences share a row, so K fixed arms need at most K(K-1)/2 rows for any number of votes. So do z and -z:
// a difference is stored with its first nonzero entry positive, and its outcome is flipped accordingly. The matrix is
// stored feature by feature, which makes a solver's step a few long vector operations.
#pragma once

#include "numerics/row_hash.hpp"

namespace duelist {

class AggregatedVotes {
public:
    explicit AggregatedVotes(i64 dim) : dim_(dim) {}

    i64 count() const { return count_; }
    i64 dim() const { return dim_; }
    // The number of rows that loops run over: a multiple of 16. Rows past the last are zero and have no mass.
    i64 padded_count() const { return (count_ + PAD - 1) / PAD * PAD; }
    i64 stride() const { return capacity_ + PAD; }
    const double* z() const { return z_.data(); }
    const double* mass() const { return mass_.data(); }
    const double* wins() const { return wins_.data(); }
    double entry(i64 row, i64 feature) const { return z_[feature * stride() + row]; }

    // Add an outcome of a difference whose first nonzero entry is positive.
    void add(const double* z, double mass, double wins) {
        i64 row = row_of(z);
        mass_[row] += mass;
        wins_[row] += wins;
    }

    // Make room for `rows` rows in total.
    void reserve(i64 rows) {
        i64 wanted = capacity_ ? capacity_ : FIRST;
        while (wanted < rows) wanted *= 2;
        if (wanted > capacity_) grow(wanted);
    }

private:
    static constexpr i64 PAD = 16;  // also offsets the same row of different features in the cache
    static constexpr i64 FIRST = 64;

    i64 dim_, count_ = 0, capacity_ = 0;
    AlignedDoubles z_, mass_, wins_;
    std::vector<i64> table_;  // open addressing at half load: row + 1, or 0 if empty

    // The first slot to probe for z.
    i64 slot_of(const double* z, i64 step) const {
        return static_cast<i64>(row_hash(z, dim_, step) & (table_.size() - 1));
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
