// How large each feature is, which the ridge and the prior precision are multiples of.
//
// One number for all features would shrink away those that come in small numbers and credit their effect to others, so
// each has its own: the variance of the first arms in it. First arms may not be typical, and later ones may be of
// another kind, so what is learned is watched: d^2 / 2 of the differences d in a feature is, on average, the variance of the arms they
// come from. Outcomes are looked at in stretches, each twice as long as the one before. After a stretch, a feature is given its mean of
// d^2 / 2 there if that is FACTOR times its size or more, or if even the largest is less than 1 / FACTOR of it. (Not if the mean
// is: a policy that knows a feature's effect stops asking about it, and rare features differ rarely. For the same reason a feature in
// which nothing differed keeps its size.) Where more than half of the features shrink, the arms before were of another kind, and the few
// pairs that tell by how much may hardly differ in one of them: no feature then shrinks to less than half of the part that
// the middle one of those that shrink does (the larger of two). A feature in which the first arms do not differ has no size, and is not
// counted among them: until the first outcome, the arms of later rounds give it one, and after it the first duel that differs in it.
//
// A policy whose first arms were far too large is so sure that it lets an arm meet itself, and hears of nothing any more; one whose
// first arms were nearly alike believes its first votes without measure, and ends there, too. So until the end of the second stretch the
// arms of a round speak, and it is decided as if sizes were their variances: in a feature where that is more than FAR times its
// size, and not for one arm's sake (half of the arms are farther than FACTOR sizes from the middle one, in squares); and where four
// arms or more have a variance under 1 / FAR of the size in more than half of the features that they differ in, in all of those.
// A feature without a size has, in any round, its variance among the arms.
//
// In the second case, and where most features shrink after the second stretch, the first arms were of another kind than those since. A vote on
// them tells who is better and not by how much, so that a hundred times the distance does not tell ten thousand times as much. In the
// precision, sum w^2 z z', a pair whose d^2 / 2 is more than FAR of the sizes that are found then, in more than half of the features, counts as
// a typical pair: for 1 over the d^2 / 2, in those sizes, of the middle feature (the smaller of two). FAR is so large that pairs of one kind
// never meet it. The exact estimator weighs all its votes again. The one-pass estimator keeps those of the two stretches and takes them in
// once more, and such a pair counts for as little in the estimate, whose curvature it could not correct later. (Sizes that shrink later are no reason:
// a policy that has found the best arms compares those that are alike, and the votes before are what it knows of the others.)
#pragma once

#include "numerics/buffer.hpp"

namespace duelist {

// Whether the arms of a round are of another kind than those that sizes come from, of a smaller one, and the sizes to decide it by.
struct RoundScale {
    bool unlike = false, smaller = false;
    AlignedDoubles squared;
};

struct FeatureScale {
    static constexpr double FACTOR = 8.0;
    static constexpr double FIRST_WINDOW = 4.0;
    static constexpr double FAR = 64.0;
    static constexpr i64 FEWEST = 4, ENOUGH = 256;  // arms that show how large features are
    static constexpr i64 MAX_EARLY_VOTES = 64;      // that are kept: votes that weigh little would be many

    bool follow = false;               // whether they follow what is learned
    bool first_arms_atypical = false;  // whether the first arms were of another kind than those since
    bool just_found_atypical = false;  // whether that was found just now
    AlignedDoubles squared;            // in force
    AlignedDoubles sum, largest;       // of d^2 / 2 in the present stretch, each outcome with its weight
    AlignedDoubles
        reach;  // the largest number of a feature among the first arms: what differs by less than its rounding is the same
    std::vector<char> unknown;  // whether no two arms have differed in a feature yet
    double counted = 0.0, length = FIRST_WINDOW;
    AlignedDoubles
        kind;  // sizes after first arms of another kind; 0 of a feature without one, and of all where there were none

    explicit FeatureScale(i64 dim)
        : squared(dim), sum(dim), largest(dim), reach(dim), unknown(static_cast<std::size_t>(dim), 0), kind(dim) {
        for (i64 k = 0; k < dim; k++) squared[k] = 1.0;
    }

    // From these first arms on, sizes follow what is learned.
    void begin(const double* arms, i64 n, i64 dim) {
        follow = true;
        std::fill(unknown.begin(), unknown.end(), 1);
        for (i64 a = 0; a < n; a++)
            for (i64 k = 0; k < dim; k++) reach[k] = std::max(reach[k], std::fabs(arms[a * dim + k]));
    }

    // One more outcome; whether sizes should change, and then to what. A weight of 2 is the same outcome twice, so that one outcome
    // may end a stretch and begin the next.
    bool notice(const double* z, i64 dim, double weight, AlignedDoubles& wanted) {
        if (!follow) return false;
        bool fresh = is_new(z, dim);
        if (!fresh && counted + weight < length) {
            count(z, dim, weight);
            return false;
        }
        wanted = squared;
        if (fresh) name_new(z, dim, wanted);
        bool changed = fresh;
        while (counted + weight >= length) {
            double part = length - counted;
            count(z, dim, part);
            weight -= part;
            changed |= end_window(dim, wanted);
        }
        if (weight > 0.0) count(z, dim, weight);
        return changed;
    }

    // Sizes from the arms of a round, for features that have none; whether any got one, and then what all are.
    bool meet(const double* arms, i64 n, i64 dim, AlignedDoubles& wanted) {
        bool met = false;
        for (i64 k = 0; k < dim; k++) {
            char& is_unknown = unknown[static_cast<std::size_t>(k)];
            double variance = is_unknown ? variance_in(k, arms + k, n, dim) : 0.0;
            if (!usable(variance)) continue;
            if (!met) wanted = squared;
            met = true;
            wanted[k] = variance;
            is_unknown = 0;
        }
        return met;
    }

    // What an outcome of a difference counts for in the precision: 1, or less where the pair is out of all proportion.
    double counts(const double* z, i64 dim, i64 step = 1) const {
        if (!first_arms_atypical) return 1.0;
        std::vector<double> in_sizes;
        i64 far = 0;
        for (i64 k = 0; k < dim; k++) {
            if (kind[k] == 0.0) continue;
            in_sizes.push_back(0.5 * z[k * step] * z[k * step] / kind[k]);
            far += in_sizes.back() > FAR;
        }
        i64 known = static_cast<i64>(in_sizes.size());
        return 2 * far > known ? 1.0 / ranked(in_sizes, (known - 1) / 2) : 1.0;
    }

    // Whether the second stretch is not over, so that the first arms may yet turn out to be of another kind.
    bool early() const { return follow && length <= 2.0 * FIRST_WINDOW; }

    // What the arms of a round say: nothing, or other sizes to decide it by. Features in which nobody has differed yet have the size that they
    // have among these arms: in raw units nobody would ask about an arm that is the first to differ in one.
    RoundScale see(const double* arms, i64 n, i64 dim) const {
        RoundScale seen = early() ? see_kind(arms, n, dim) : RoundScale{};
        if (!any_unknown()) return seen;
        for (i64 k = 0; k < dim; k++) {
            double variance = unknown[static_cast<std::size_t>(k)] ? variance_in(k, arms + k, n, dim) : 0.0;
            if (!usable(variance)) continue;
            if (!seen.unlike) seen = {true, false, squared};
            seen.squared[k] = variance;
        }
        return seen;
    }

    // What they say as long as the first arms may turn out to be of another kind.
    RoundScale see_kind(const double* arms, i64 n, i64 dim) const {
        bool wider = is_wider(arms, n, dim),
             smaller = are_smaller(arms, n, dim, ENOUGH) && are_smaller(arms, n, dim, n);
        if (!wider && !smaller) return {};
        RoundScale seen{true, smaller, squared};
        for (i64 k = 0; k < dim; k++) {
            bool speaks = !unknown[static_cast<std::size_t>(k)] && (smaller || is_wide(arms, n, dim, k));
            double variance = speaks ? variance_in(k, arms + k, n, dim) : 0.0;
            if (usable(variance)) seen.squared[k] = variance;
        }
        return seen;
    }

    void believe(const RoundScale& seen, i64 dim) {
        if (seen.smaller) set_typical_scale(dim, seen.squared);
    }

    bool any_unknown() const { return follow && std::find(unknown.begin(), unknown.end(), 1) != unknown.end(); }

    // The variance of n numbers, `stride` apart; exactly zero where they are all the same, or differ by rounding alone, of these or of numbers
    // up to `largest`, from which they may have been computed.
    static double variance_of(const double* x, i64 n, i64 stride, double largest = 0.0) {
        double mean = 0.0, total = 0.0;
        for (i64 a = 0; a < n; a++) {
            mean += (x[a * stride] - x[0]) / static_cast<double>(n);
            largest = std::max(largest, std::fabs(x[a * stride]));
        }
        for (i64 a = 0; a < n; a++) {
            double gap = (x[a * stride] - x[0]) - mean;
            total += gap * gap;
        }
        double variance = total / static_cast<double>(n), rounding = ROUNDING * largest;
        return variance > rounding * rounding ? variance : 0.0;
    }

private:
    static constexpr double ROUNDING =
        0x1p-40;  // parts of the largest number: what computations of one thing may differ by

    static bool usable(double half) { return half > std::numeric_limits<double>::min() && half < 1e300; }

    double variance_in(i64 k, const double* x, i64 n, i64 stride) const { return variance_of(x, n, stride, reach[k]); }

    // Whether a difference is one in a feature that has no size.
    bool names(i64 k, const double* z) const {
        return unknown[static_cast<std::size_t>(k)] && std::fabs(z[k]) > ROUNDING * reach[k] &&
               usable(0.5 * z[k] * z[k]);
    }

    bool is_new(const double* z, i64 dim) const {
        for (i64 k = 0; k < dim; k++)
            if (names(k, z)) return true;
        return false;
    }

    void count(const double* z, i64 dim, double weight) {
        for (i64 k = 0; k < dim; k++) {
            double half = 0.5 * z[k] * z[k];
            sum[k] += weight * half;
            largest[k] = std::max(largest[k], half);
        }
        counted += weight;
    }

    void name_new(const double* z, i64 dim, AlignedDoubles& wanted) {
        for (i64 k = 0; k < dim; k++) {
            if (!names(k, z)) continue;
            wanted[k] = 0.5 * z[k] * z[k];
            unknown[static_cast<std::size_t>(k)] = 0;
        }
    }

    bool is_wide(const double* arms, i64 n, i64 dim, i64 k) const {
        return !unknown[static_cast<std::size_t>(k)] && variance_in(k, arms + k, n, dim) > FAR * squared[k] &&
               middle_square(arms + k, n, dim) > FACTOR * squared[k];
    }

    // The squared distance from the middle one of n numbers that half of them have (the larger of two).
    static double middle_square(const double* x, i64 n, i64 stride) {
        std::vector<double> numbers;
        for (i64 a = 0; a < n; a++) numbers.push_back(x[a * stride]);
        double middle = ranked(numbers, (n - 1) / 2);
        for (double& each : numbers) each = (each - middle) * (each - middle);
        return ranked(numbers, n / 2);
    }

    // Whether a feature is far larger among these arms. A variance is at most the largest squared distance from any one of them.
    bool is_wider(const double* arms, i64 n, i64 dim) const {
        bool suspect = false;
        for (i64 a = 1; a < n; a++)
            for (i64 k = 0; k < dim; k++) {
                double gap = arms[a * dim + k] - arms[k];
                suspect |= gap * gap > FAR * squared[k];
            }
        if (!suspect) return false;
        for (i64 k = 0; k < dim; k++)
            if (is_wide(arms, n, dim, k)) return true;
        return false;
    }

    // Whether most features are far smaller among these arms, of which about `most` are looked at.
    bool are_smaller(const double* arms, i64 n, i64 dim, i64 most) const {
        if (n < FEWEST) return false;
        i64 every = (n + most - 1) / most, differ = 0, smaller = 0;
        for (i64 k = 0; k < dim; k++) {
            if (unknown[static_cast<std::size_t>(k)]) continue;
            double variance = variance_in(k, arms + k, (n + every - 1) / every, dim * every);
            differ += usable(variance);
            smaller += usable(variance) && FAR * variance < squared[k];
        }
        return 2 * smaller > differ;
    }

    bool has_told(i64 k) const { return !unknown[static_cast<std::size_t>(k)] && usable(sum[k] / counted); }
    bool shrinks(i64 k, const AlignedDoubles& wanted) const { return has_told(k) && FACTOR * largest[k] < wanted[k]; }

    // The least part of its size that a feature shrinks to: half of what the middle one does, where most shrink.
    double least_part(i64 dim, const AlignedDoubles& wanted) const {
        std::vector<double> parts;
        i64 known = 0;
        for (i64 k = 0; k < dim; k++) {
            known += !unknown[static_cast<std::size_t>(k)];
            if (shrinks(k, wanted)) parts.push_back(sum[k] / counted / wanted[k]);
        }
        i64 shrunk = static_cast<i64>(parts.size());
        return 2 * shrunk > known ? 0.5 * ranked(parts, shrunk / 2) : 0.0;
    }

    void set_typical_scale(i64 dim, const AlignedDoubles& wanted) {
        first_arms_atypical = just_found_atypical = true;
        for (i64 k = 0; k < dim; k++) kind[k] = unknown[static_cast<std::size_t>(k)] ? 0.0 : wanted[k];
    }

    static double ranked(std::vector<double>& numbers, i64 rank) {
        std::nth_element(numbers.begin(), numbers.begin() + rank, numbers.end());
        return numbers[static_cast<std::size_t>(rank)];
    }

    bool end_window(i64 dim, AlignedDoubles& wanted) {
        bool changed = false;
        double least = least_part(dim, wanted);
        for (i64 k = 0; k < dim; k++) {
            double mean = sum[k] / counted;
            bool shrunk = shrinks(k, wanted), grown = has_told(k) && mean >= FACTOR * wanted[k];
            if (shrunk) wanted[k] = std::max(mean, least * wanted[k]);
            if (grown) wanted[k] = mean;
            changed |= shrunk || grown;
            sum[k] = largest[k] = 0.0;
        }
        if (length == 2.0 * FIRST_WINDOW && least > 0.0) set_typical_scale(dim, wanted);
        counted = 0.0;
        length *= 2.0;
        return changed;
    }
};

}  // namespace duelist
