// The feature scale and the parameter of ties in snapshots.
#pragma once

#include "bindings/arrays.hpp"
#include "model/feature_scale.hpp"
#include "model/tie_parameter.hpp"

namespace duelist {

// Start adapting the scale from these first arms.
inline void start_feature_scale(FeatureScale& scale, const Matrix& arms, i64 dim) {
    i64 n = arms.extent(0);
    require(n > 0 && arms.extent(1) == dim, "The first arms do not match the dimension.");
    scale.start(arms.data(), n, dim);
    AlignedDoubles first;
    if (scale.scale_unknown(arms.data(), n, dim, first)) scale.squared = std::move(first);
}

inline void write_feature_scale(nb::dict& out, const FeatureScale& scale, i64 dim) {
    std::vector<i64> unknown(scale.unknown.begin(), scale.unknown.end());
    double window[] = {scale.window_weight, scale.window_length, scale.adaptive ? 1.0 : 0.0};
    out["scale"] = to_numpy(scale.squared.data(), {dim});
    out["scale_sum"] = to_numpy(scale.sum.data(), {dim});
    out["scale_largest"] = to_numpy(scale.largest.data(), {dim});
    out["scale_unknown"] = to_numpy(unknown);
    out["scale_magnitude"] = to_numpy(scale.magnitude.data(), {dim});
    out["scale_window"] = to_numpy(window, {3});
    if (scale.first_arms_atypical) out["scale_typical"] = to_numpy(scale.typical.data(), {dim});
}

inline void read_feature_scale(FeatureScale& scale, const nb::dict& arrays, i64 dim) {
    auto copy = [dim](const std::vector<double>& from, AlignedDoubles& to) {
        std::copy_n(from.data(), dim, to.data());
    };
    copy(read_finite(arrays, "scale", {dim}, std::numeric_limits<double>::min()), scale.squared);
    copy(read_finite(arrays, "scale_sum", {dim}, 0.0), scale.sum);
    copy(read_finite(arrays, "scale_largest", {dim}, 0.0), scale.largest);
    copy(read_finite(arrays, "scale_magnitude", {dim}, 0.0), scale.magnitude);
    std::vector<i64> unknown = read_array<i64>(arrays, "scale_unknown", {dim});
    std::transform(unknown.begin(), unknown.end(), scale.unknown.begin(), [](i64 flag) { return flag != 0; });
    std::vector<double> window = read_finite(arrays, "scale_window", {3}, 0.0);
    require(window[1] >= FeatureScale::FIRST_WINDOW, "Array 'scale_window' has too short a window.");
    scale.window_weight = window[0];
    scale.window_length = window[1];
    scale.adaptive = window[2] != 0.0;
    if (!arrays.contains("scale_typical")) return;
    copy(read_finite(arrays, "scale_typical", {dim}, 0.0), scale.typical);
    scale.first_arms_atypical = true;
}

inline void write_ties(nb::dict& out, const TieParameter& ties, Link link) {
    double numbers[] = {link.nu, ties.ties, ties.votes, ties.exposure, ties.next};
    out["ties"] = to_numpy(numbers, {5});
}

inline void set_ties(TieParameter& ties, Link& link, const std::vector<double>& numbers) {
    require(numbers[0] == 0.0 || (link.kind == Link::Kind::logistic && numbers[0] <= Davidson::LARGEST_NU),
            "Array 'ties' has a parameter that the link cannot have.");
    require(numbers[1] <= numbers[2], "Array 'ties' has more ties than votes.");
    link.nu = numbers[0];
    ties = {numbers[1], numbers[2], numbers[3], numbers[4]};
}

inline void read_ties(TieParameter& ties, Link& link, const nb::dict& arrays) {
    set_ties(ties, link, read_finite(arrays, "ties", {5}, 0.0));
}

}  // namespace duelist
