// The blocks of the graph: a source of zeros, copies of a random size, a sink. Follows src/blocks.
#pragma once

#include "backlog.hpp"
#include "dropline_trace.h"

#include <gnuradio/block.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <time.h>

// Numbers of the program's own events: for how long a granule had been due, and that it left a copy block.
enum { EVENT_DUE = 1, EVENT_STAGE = 2 };

// Counters of a pipe: its source writes one, its sink the other.
struct Flight {
    alignas(128) std::atomic<uint64_t> produced{0};
    alignas(128) std::atomic<uint64_t> consumed{0};
    alignas(128) std::atomic<uint64_t> lost{0};
    std::atomic<uint64_t> longest_backlog{0}, waiting_at_end{0};
};

// Counts samples; hands over the granules that they complete, from 1. One call may complete several.
class Granules
{
public:
    explicit Granules(uint64_t size) : size_(size), next_(size) {}

    template <typename Each> void pass(uint64_t samples, Each each)
    {
        passed_ += samples;
        for (; next_ <= passed_; next_ += size_)
            each(next_ / size_);
    }

    uint64_t passed() const { return passed_; }

private:
    uint64_t size_, next_, passed_ = 0;
};

// What a source has to hand on.
struct Offer {
    // Without a backlog: as much as the graph takes, until this moment; 0: a head counts.
    uint64_t until_ns = 0;
    std::optional<Backlog> backlog;
    uint64_t begins_ns = 0, gives_up_ns = 0;
};

// Hands on zeros and says when a granule leaves.
template <bool TRACED> class ProbedSource : public gr::sync_block
{
public:
    ProbedSource(uint32_t pipe, Offer offer, uint64_t granularity, std::shared_ptr<Flight> flight)
        : gr::sync_block("probed_source", gr::io_signature::make(0, 0, 0),
              gr::io_signature::make(1, 1, sizeof(float))),
          pipe_(pipe), granularity_(granularity), offer_(std::move(offer)), granules_(granularity),
          flight_(std::move(flight))
    {
    }

    int work(int room, gr_vector_const_void_star&, gr_vector_void_star& outputs) override
    {
        uint64_t samples = 0;
        if (!offer_.backlog)
            samples = all(uint64_t(room));
        // GNU Radio lets a source that hands on nothing wait for 250 ms: wait here.
        while (offer_.backlog && samples == 0 && !over_)
            samples = due(uint64_t(room));
        std::memset(outputs[0], 0, samples * sizeof(float));
        handed_on_ += samples;
        flight_->produced.store(handed_on_, std::memory_order_relaxed);
        return samples == 0 ? WORK_DONE : int(samples);
    }

private:
    // The tracepoint comes before the samples are handed on: no sink can be earlier.
    uint64_t all(uint64_t room)
    {
        if (offer_.until_ns != 0 && dropline_monotonic_ns() >= offer_.until_ns) {
            over_ = true;
            return 0;
        }
        if constexpr (TRACED)
            granules_.pass(room, [&](uint64_t granule) { dropline_tx(pipe_, granule); });
        return room;
    }

    uint64_t due(uint64_t room)
    {
        Backlog& backlog = *offer_.backlog;
        rest();
        uint64_t now_ns = dropline_monotonic_ns();
        uint64_t at_ns = now_ns > offer_.begins_ns ? now_ns - offer_.begins_ns : 0;
        if (now_ns >= offer_.begins_ns) {
            bool all_came = backlog.all_came();
            backlog.advance(at_ns);
            if (!all_came && backlog.all_came())
                flight_->waiting_at_end.store(backlog.length(), std::memory_order_relaxed);
        }
        if (now_ns >= offer_.gives_up_ns)
            backlog.abandon();
        uint64_t samples = backlog.take(room, [&](uint64_t first, uint64_t end) {
            uint64_t before = granules_.passed();
            granules_.pass(end - first, [&](uint64_t granule) {
                if constexpr (TRACED) {
                    uint64_t number = first + granule * granularity_ - 1 - before;
                    uint64_t due_ns = offer_.begins_ns + backlog.steady().due_ns(number), left_ns = dropline_monotonic_ns();
                    dropline_event(EVENT_DUE, pipe_, granule, left_ns > due_ns ? left_ns - due_ns : 0);
                    dropline_tx(pipe_, granule);
                }
            });
        });
        flight_->lost.store(backlog.lost(), std::memory_order_relaxed);
        flight_->longest_backlog.store(backlog.longest(), std::memory_order_relaxed);
        over_ = backlog.is_over();
        if (backlog.length() == 0 && !over_)
            rests_until_ns_ = now_ns + REST_NS;
        return samples;
    }

    void rest()
    {
        uint64_t now_ns = dropline_monotonic_ns();
        if (now_ns >= rests_until_ns_)
            return;
        uint64_t wait = rests_until_ns_ - now_ns;
        timespec time{time_t(wait / 1000000000), long(wait % 1000000000)};
        nanosleep(&time, nullptr);
    }

    // A source that has handed on all that was due rests so long: less would hand on crumbs and cost the graph its CPU,
    // more would show in every delay.
    static constexpr uint64_t REST_NS = 200000;

    uint32_t pipe_;
    uint64_t granularity_, handed_on_ = 0, rests_until_ns_ = 0;
    Offer offer_;
    Granules granules_;
    std::shared_ptr<Flight> flight_;
    bool over_ = false;
};

// Copies 1 to so many samples a call, so that no two calls are alike and no schedule is fixed.
template <bool TRACED> class CopyRand : public gr::block
{
public:
    CopyRand(uint32_t pipe, uint32_t stage, uint64_t most, uint64_t seed, uint64_t granularity)
        : gr::block("copy_rand", gr::io_signature::make(1, 1, sizeof(float)),
              gr::io_signature::make(1, 1, sizeof(float))),
          pipe_(pipe), stage_(stage), most_(most), granules_(granularity)
    {
        // As src/chance.rs, so that both graphs copy alike.
        uint64_t mixed = seed + 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        chance_ = std::max<uint64_t>(mixed ^ (mixed >> 31), 1);
    }

    void forecast(int, gr_vector_int& needed) override { needed[0] = 1; }

    int general_work(int room, gr_vector_int& there, gr_vector_const_void_star& inputs,
        gr_vector_void_star& outputs) override
    {
        chance_ ^= chance_ << 13;
        chance_ ^= chance_ >> 7;
        chance_ ^= chance_ << 17;
        uint64_t most = 1 + uint64_t((static_cast<unsigned __int128>(chance_) * most_) >> 64);
        uint64_t copied = std::min({most, uint64_t(room), uint64_t(there[0])});
        std::memcpy(outputs[0], inputs[0], copied * sizeof(float));
        if constexpr (TRACED)
            granules_.pass(copied, [&](uint64_t granule) { dropline_event(EVENT_STAGE, pipe_, granule, stage_); });
        consume_each(int(copied));
        return int(copied);
    }

private:
    uint32_t pipe_, stage_;
    uint64_t most_, chance_;
    Granules granules_;
};

// Takes what comes and says when a granule is complete.
template <bool TRACED> class ProbedSink : public gr::sync_block
{
public:
    ProbedSink(uint32_t pipe, uint64_t granularity, std::shared_ptr<Flight> flight)
        : gr::sync_block("probed_sink", gr::io_signature::make(1, 1, sizeof(float)),
              gr::io_signature::make(0, 0, 0)),
          pipe_(pipe), granules_(granularity), flight_(std::move(flight))
    {
    }

    int work(int samples, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        if constexpr (TRACED)
            granules_.pass(uint64_t(samples), [&](uint64_t granule) { dropline_rx(pipe_, granule); });
        had_ += uint64_t(samples);
        flight_->consumed.store(had_, std::memory_order_relaxed);
        return samples;
    }

private:
    uint32_t pipe_;
    uint64_t had_ = 0;
    Granules granules_;
    std::shared_ptr<Flight> flight_;
};
