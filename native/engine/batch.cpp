#include "engine/batch.hpp"

#include "numerics/parallel.hpp"

namespace duelist {

namespace {

constexpr i64 GROUP = 100;  // contexts per group: the best context is the best of the groups' best

constexpr i64 TOGETHER = 64;  // contexts whose differences are whitened at once

// The decision for each context.
struct ContextDecisions {
    std::vector<Decision> duels;
    AlignedDoubles whitened;  // (contexts, dim): w R'^-1 z of each duel, or zero if its outcome would not be learned
};

// Store w z of a duel in the row of its context.
void write_difference(const Decision& duel, const ArmTable& table, double* z) {
    double root = std::sqrt(duel.share);
    for (i64 k = 0; k < table.dim; k++) z[k] = root * (table.arm(duel.first)[k] - table.arm(duel.second)[k]);
}

// Replace the differences z of the listed contexts by R'^-1 z.
void whiten(const double* factor, i64 dim, const std::vector<i64>& contexts, double* whitened, AlignedDoubles& buffer) {
    i64 n = static_cast<i64>(contexts.size()), stride = padded(n);
    double* v = buffer.fit(dim * stride);
    kernels->whiten(whitened, contexts.data(), n, dim, nullptr, factor, nullptr, v, stride);
    for (i64 c = 0; c < n; c++)
        for (i64 k = 0; k < dim; k++) whitened[contexts[c] * dim + k] = v[k * stride + c];
}

void decide_some(const SelectionRule& rule, PolicyState& state, const ContextArms& contexts,
                 const std::vector<PendingDuel>& pending, i64 start, i64 stop, bool distinct,
                 ContextDecisions& decided) {
    Workspace workspace;
    AlignedDoubles buffer;
    i64 dim = state.dim;
    for (i64 from = start; from < stop; from += TOGETHER) {
        std::vector<std::vector<i64>> learning(static_cast<std::size_t>(state.n_layers()));
        for (i64 c = from; c < std::min(from + TOGETHER, stop); c++) {
            ArmTable table{contexts.arm(c, 0), contexts.count(c), dim, distinct};
            Decision duel = decide_excluding(pending, rule, state, workspace, table);
            decided.duels[static_cast<std::size_t>(c)] = duel;
            if (duel.first < 0 || !(duel.share > 0.0) || duel.layer < 0) continue;
            write_difference(duel, table, decided.whitened.data() + c * dim);
            learning[static_cast<std::size_t>(duel.layer)].push_back(c);
        }
        for (i64 layer = 0; layer < state.n_layers(); layer++) {
            const std::vector<i64>& listed = learning[static_cast<std::size_t>(layer)];
            if (!listed.empty()) whiten(state.layer(layer).factor.data(), dim, listed, decided.whitened.data(), buffer);
        }
    }
}

i64 best_of_group(const std::vector<double>& value, i64 group) {
    auto from = value.begin() + group * GROUP;
    auto to = value.begin() + std::min<i64>((group + 1) * GROUP, static_cast<i64>(value.size()));
    return std::max_element(from, to) - value.begin();
}

// Update the whitened difference a for the precision that p has added; `square` is |p|^2.
void downdate(double* a, const double* p, double square, i64 dim) {
    if (square == 0.0) return;
    double size = (1.0 - 1.0 / std::sqrt(1.0 + square)) * kernels->dot(a, p, dim) / square;
    for (i64 i = 0; i < dim; i++) a[i] -= size * p[i];
}

ContextDecisions decide_all(const SelectionRule& rule, PolicyState& state, const ContextArms& contexts,
                            const std::vector<PendingDuel>& pending, bool distinct, i64 threads) {
    ContextDecisions decided;
    decided.duels.resize(static_cast<std::size_t>(contexts.n));
    decided.whitened.fit(contexts.n * state.dim);
    threads = rule.draws() ? 1 : usable_threads(threads, contexts.n);
    run_in_parts(threads, [&](i64 k) {
        decide_some(rule, state, contexts, pending, contexts.n * k / threads, contexts.n * (k + 1) / threads, distinct,
                    decided);
    });
    return decided;
}

BatchDecision all_in_order(const ContextDecisions& decided, i64 dim) {
    BatchDecision batch;
    batch.duels = decided.duels;
    for (i64 c = 0; c < static_cast<i64>(decided.duels.size()); c++) {
        const double* z = decided.whitened.data() + c * dim;
        batch.contexts.push_back(c);
        batch.information.push_back(log1p(kernels->dot(z, z, dim)));
    }
    return batch;
}

// After a duel with whitened difference p is selected, every other a of its layer becomes a - (1 - 1/sqrt(1 + |p|^2))
// (a.p / |p|^2) p. The update is lazy: only a context that would be selected next is updated, for all duels selected
// since.
BatchDecision choose_contexts(ContextDecisions& decided, i64 dim, i64 k) {
    i64 n = static_cast<i64>(decided.duels.size());
    BatchDecision batch;
    auto whitened = [&](i64 c) { return decided.whitened.data() + c * dim; };
    auto layer = [&](i64 c) { return decided.duels[static_cast<std::size_t>(c)].layer; };
    std::vector<double> value(static_cast<std::size_t>(n)), square(static_cast<std::size_t>(k));
    std::vector<i64> seen(static_cast<std::size_t>(n), 0), best(static_cast<std::size_t>((n + GROUP - 1) / GROUP));
    for (i64 c = 0; c < n; c++) value[c] = kernels->dot(whitened(c), whitened(c), dim);
    for (i64 group = 0; group < static_cast<i64>(best.size()); group++) best[group] = best_of_group(value, group);
    auto most = [&] {
        i64 top = best[0];
        for (i64 candidate : best)
            if (value[candidate] > value[top]) top = candidate;
        return top;
    };
    for (i64 done = 0; done < k; done++) {
        i64 c = most();
        while (seen[c] != done) {
            for (i64 past = seen[c]; past < done; past++)
                if (layer(batch.contexts[past]) == layer(c))
                    downdate(whitened(c), whitened(batch.contexts[past]), square[past], dim);
            seen[c] = done;
            value[c] = kernels->dot(whitened(c), whitened(c), dim);
            best[c / GROUP] = best_of_group(value, c / GROUP);
            c = most();
        }
        batch.contexts.push_back(c);
        batch.duels.push_back(decided.duels[static_cast<std::size_t>(c)]);
        batch.information.push_back(log1p(value[c]));
        square[done] = value[c];
        value[c] = -1.0;
        seen[c] = k;
        best[c / GROUP] = best_of_group(value, c / GROUP);
    }
    return batch;
}

BatchDecision designed(const std::vector<DesignedPair>& chosen) {
    BatchDecision batch;
    for (const DesignedPair& pair : chosen) {
        batch.contexts.push_back(pair.context);
        batch.duels.push_back({pair.first, pair.second, 0, 1.0});
        batch.information.push_back(pair.information);
    }
    return batch;
}

}  // namespace

std::optional<BatchDecision> decide_batch(const SelectionRule& rule, PolicyState& state, const ContextArms& contexts,
                                          const std::vector<PendingDuel>& pending, i64 k, bool distinct, i64 threads) {
    Workspace workspace;
    rule.prepare(state, workspace);
    if (k >= 0 && rule.designs() && contexts.candidates > 1 && contexts.candidates < MANY_ARMS)
        return designed(rule.design(state, workspace, contexts, k, threads));
    ContextDecisions decided = decide_all(rule, state, contexts, pending, distinct, threads);
    for (const Decision& duel : decided.duels)
        if (duel.first < 0) return std::nullopt;
    return k < 0 ? all_in_order(decided, contexts.dim) : choose_contexts(decided, contexts.dim, k);
}

}  // namespace duelist
