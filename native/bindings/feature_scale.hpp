// Sizes of features, written into arrays and read from arrays that anybody may have damaged.
#pragma once

#include "bindings/arrays.hpp"

namespace duelist {

// Sizes of features that follow what is learned, from these first arms.
inline void adopt_scale(FeatureScale& scale, const Matrix& arms, i64 dim) {
    i64 n = static_cast<i64>(arms.shape(0));
    if (n == 0 || static_cast<i64>(arms.shape(1)) != dim)
        throw std::invalid_argument("the first arms do not fit the features");
    scale.begin(arms.data(), n, dim);
    AlignedDoubles first;
    if (scale.meet(arms.data(), n, dim, first)) scale.squared = std::move(first);
}

inline void write_feature_scale(nb::dict& out, const FeatureScale& scale, i64 dim) {
    std::vector<i64> unknown(scale.unknown.begin(), scale.unknown.end());
    double stretch[] = {scale.counted, scale.length, scale.follow ? 1.0 : 0.0};
    out["sizes"] = copied(scale.squared.data(), {dim});
    out["size_sum"] = copied(scale.sum.data(), {dim});
    out["size_largest"] = copied(scale.largest.data(), {dim});
    out["size_unknown"] = copied(unknown);
    out["size_reach"] = copied(scale.reach.data(), {dim});
    out["size_stretch"] = copied(stretch, {3});
    if (scale.first_arms_atypical) out["size_kind"] = copied(scale.kind.data(), {dim});
}

inline void read_feature_scale(FeatureScale& scale, const nb::dict& arrays, i64 dim) {
    auto squared = finite(read_array<double>(arrays, "sizes", {dim}), "sizes", std::numeric_limits<double>::min());
    auto sum = finite(read_array<double>(arrays, "size_sum", {dim}), "size_sum", 0.0);
    auto largest = finite(read_array<double>(arrays, "size_largest", {dim}), "size_largest", 0.0);
    auto unknown = read_array<i64>(arrays, "size_unknown", {dim});
    auto reach = finite(read_array<double>(arrays, "size_reach", {dim}), "size_reach", 0.0);
    auto stretch = finite(read_array<double>(arrays, "size_stretch", {3}), "size_stretch", 0.0);
    if (!(stretch[1] >= FeatureScale::FIRST_WINDOW)) throw std::invalid_argument("size_stretch is damaged");
    for (i64 k = 0; k < dim; k++) {
        std::size_t at = static_cast<std::size_t>(k);
        scale.squared[k] = squared[at];
        scale.sum[k] = sum[at];
        scale.largest[k] = largest[at];
        scale.reach[k] = reach[at];
        scale.unknown[at] = unknown[at] != 0;
    }
    scale.counted = stretch[0];
    scale.length = stretch[1];
    scale.follow = stretch[2] != 0.0;
    if (!arrays.contains("size_kind")) return;
    auto kind = finite(read_array<double>(arrays, "size_kind", {dim}), "size_kind", 0.0);
    scale.first_arms_atypical = true;
    std::copy(kind.begin(), kind.end(), scale.kind.data());
}

}  // namespace duelist
