// Sizes of features, written into arrays and read from arrays that anybody may have damaged.
#pragma once

#include "bindings/arrays.hpp"

namespace duelist {

// Sizes of features that follow what is learned, from these first arms.
inline void follow_sizes(Sizes& sizes, const Matrix& arms, i64 dim) {
    i64 n = static_cast<i64>(arms.shape(0));
    if (n == 0 || static_cast<i64>(arms.shape(1)) != dim) throw std::invalid_argument("the first arms do not fit the features");
    sizes.begin(arms.data(), n, dim);
    Numbers first;
    if (sizes.meet(arms.data(), n, dim, first)) sizes.squared = std::move(first);
}

inline void write_sizes(nb::dict& out, const Sizes& sizes, i64 dim) {
    std::vector<i64> unknown(sizes.unknown.begin(), sizes.unknown.end());
    double stretch[] = {sizes.counted, sizes.length, sizes.follow ? 1.0 : 0.0};
    out["sizes"] = copied(sizes.squared.data(), {dim});
    out["size_sum"] = copied(sizes.sum.data(), {dim});
    out["size_largest"] = copied(sizes.largest.data(), {dim});
    out["size_unknown"] = copied(unknown);
    out["size_reach"] = copied(sizes.reach.data(), {dim});
    out["size_stretch"] = copied(stretch, {3});
    if (sizes.odd_first) out["size_kind"] = copied(sizes.kind.data(), {dim});
}

inline void read_sizes(Sizes& sizes, const nb::dict& arrays, i64 dim) {
    auto squared = finite(taken<double>(arrays, "sizes", {dim}), "sizes", std::numeric_limits<double>::min());
    auto sum = finite(taken<double>(arrays, "size_sum", {dim}), "size_sum", 0.0);
    auto largest = finite(taken<double>(arrays, "size_largest", {dim}), "size_largest", 0.0);
    auto unknown = taken<i64>(arrays, "size_unknown", {dim});
    auto reach = finite(taken<double>(arrays, "size_reach", {dim}), "size_reach", 0.0);
    auto stretch = finite(taken<double>(arrays, "size_stretch", {3}), "size_stretch", 0.0);
    if (!(stretch[1] >= Sizes::FIRST_STRETCH)) throw std::invalid_argument("size_stretch is damaged");
    for (i64 k = 0; k < dim; k++) {
        std::size_t at = static_cast<std::size_t>(k);
        sizes.squared[k] = squared[at];
        sizes.sum[k] = sum[at];
        sizes.largest[k] = largest[at];
        sizes.reach[k] = reach[at];
        sizes.unknown[at] = unknown[at] != 0;
    }
    sizes.counted = stretch[0];
    sizes.length = stretch[1];
    sizes.follow = stretch[2] != 0.0;
    if (!arrays.contains("size_kind")) return;
    auto kind = finite(taken<double>(arrays, "size_kind", {dim}), "size_kind", 0.0);
    sizes.odd_first = true;
    std::copy(kind.begin(), kind.end(), sizes.kind.data());
}

}  // namespace duelist
