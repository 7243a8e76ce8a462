#include "batch.hpp"

#include <exception>
#include <system_error>
#include <thread>

namespace duelist {

namespace {

constexpr i64 MOST_THREADS = 256;
constexpr i64 GROUP = 100;  // contexts whose best is remembered, so that the best of ten thousand is found among a hundred

constexpr i64 TOGETHER = 64;  // contexts whose differences are whitened at once

// w z of a duel into the row of its context.
void write_difference(const Decision& duel, const Table& table, double* z) {
    double root = std::sqrt(duel.share);
    for (i64 k = 0; k < table.dim; k++) z[k] = root * (table.arm(duel.first)[k] - table.arm(duel.second)[k]);
}

// The differences of the listed contexts become R'^-1 of what they are.
void lift(const double* factor, i64 dim, const std::vector<i64>& contexts, double* lifted, Numbers& room) {
    i64 n = static_cast<i64>(contexts.size()), stride = padded(n);
    double* v = room.fit(dim * stride);
    kernels->look(lifted, contexts.data(), n, dim, nullptr, factor, nullptr, v, stride);
    for (i64 c = 0; c < n; c++)
        for (i64 k = 0; k < dim; k++) lifted[contexts[c] * dim + k] = v[k * stride + c];
}

void decide_some(const Rule& rule, State& state, const double* arms, i64 start, i64 stop, i64 candidates, bool distinct,
                 Batch& batch) {
    Scratch scratch;
    Numbers room;
    i64 dim = state.dim;
    for (i64 from = start; from < stop; from += TOGETHER) {
        std::vector<std::vector<i64>> learning(static_cast<std::size_t>(state.n_layers()));
        for (i64 c = from; c < std::min(from + TOGETHER, stop); c++) {
            Table table{arms + c * candidates * dim, candidates, dim, distinct};
            Decision duel = rule.decide(state, scratch, table);
            batch.duels[static_cast<std::size_t>(c)] = duel;
            if (duel.first < 0 || !(duel.share > 0.0) || duel.layer < 0) continue;
            write_difference(duel, table, batch.lifted.data() + c * dim);
            learning[static_cast<std::size_t>(duel.layer)].push_back(c);
        }
        for (i64 layer = 0; layer < state.n_layers(); layer++) {
            const std::vector<i64>& contexts = learning[static_cast<std::size_t>(layer)];
            if (!contexts.empty()) lift(state.layer(layer).factor.data(), dim, contexts, batch.lifted.data(), room);
        }
    }
}

i64 best_of_group(const std::vector<double>& worth, i64 group) {
    auto from = worth.begin() + group * GROUP;
    auto to = worth.begin() + std::min<i64>((group + 1) * GROUP, static_cast<i64>(worth.size()));
    return std::max_element(from, to) - worth.begin();
}

// The lifted difference a under the precision that p has raised; `square` is |p|^2.
void discount(double* a, const double* p, double square, i64 dim) {
    if (square == 0.0) return;
    double size = (1.0 - 1.0 / std::sqrt(1.0 + square)) * kernels->dot(a, p, dim) / square;
    for (i64 i = 0; i < dim; i++) a[i] -= size * p[i];
}

}  // namespace

Batch decide_all(const Rule& rule, State& state, const double* arms, i64 contexts, i64 candidates, bool distinct,
                 i64 threads) {
    Batch batch;
    batch.duels.resize(static_cast<std::size_t>(contexts));
    batch.lifted.fit(contexts * state.dim);
    Scratch scratch;
    rule.prepare(state, scratch);
    threads = rule.draws() ? 1 : std::max<i64>(1, std::min({threads, contexts, MOST_THREADS}));
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads));
    auto part = [&](i64 k) {
        try {
            decide_some(rule, state, arms, contexts * k / threads, contexts * (k + 1) / threads, candidates, distinct,
                        batch);
        } catch (...) {  // it may not leave its thread
            failures[static_cast<std::size_t>(k)] = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    i64 started = 0;
    try {
        for (; started + 1 < threads; started++) helpers.emplace_back(part, started);
    } catch (const std::system_error&) {
        // The system gives no more threads: this one does the rest.
    }
    for (i64 k = started; k < threads; k++) part(k);
    for (std::thread& helper : helpers) helper.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
    for (const Decision& duel : batch.duels) batch.complete = batch.complete && duel.first >= 0;
    return batch;
}

// After a duel with lifted difference p is chosen, every other a of its layer becomes
// a - (1 - 1/sqrt(1 + |p|^2)) (a.p / |p|^2) p. This is done only to a context that would be chosen next, for all duels chosen
// since it was last looked at.
void choose_contexts(Batch& batch, i64 dim, i64 k, i64* chosen, double* information) {
    i64 n = static_cast<i64>(batch.duels.size());
    auto lifted = [&](i64 c) { return batch.lifted.data() + c * dim; };
    auto layer = [&](i64 c) { return batch.duels[static_cast<std::size_t>(c)].layer; };
    std::vector<double> worth(static_cast<std::size_t>(n)), square(static_cast<std::size_t>(k));
    std::vector<i64> seen(static_cast<std::size_t>(n), 0), best(static_cast<std::size_t>((n + GROUP - 1) / GROUP));
    for (i64 c = 0; c < n; c++) worth[c] = kernels->dot(lifted(c), lifted(c), dim);
    for (i64 group = 0; group < static_cast<i64>(best.size()); group++) best[group] = best_of_group(worth, group);
    auto most = [&] {
        i64 top = best[0];
        for (i64 candidate : best)
            if (worth[candidate] > worth[top]) top = candidate;
        return top;
    };
    for (i64 done = 0; done < k; done++) {
        i64 c = most();
        while (seen[c] != done) {
            for (i64 past = seen[c]; past < done; past++)
                if (layer(chosen[past]) == layer(c)) discount(lifted(c), lifted(chosen[past]), square[past], dim);
            seen[c] = done;
            worth[c] = kernels->dot(lifted(c), lifted(c), dim);
            best[c / GROUP] = best_of_group(worth, c / GROUP);
            c = most();
        }
        chosen[done] = c;
        square[done] = worth[c];
        information[done] = log1p(worth[c]);
        worth[c] = -1.0;
        seen[c] = k;
        best[c / GROUP] = best_of_group(worth, c / GROUP);
    }
}

}  // namespace duelist
