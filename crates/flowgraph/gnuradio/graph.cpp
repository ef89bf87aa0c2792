#include "graph.hpp"
#include "blocks.hpp"

#include <gnuradio/blocks/head.h>
#include <gnuradio/constants.h>
#include <gnuradio/top_block.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <unistd.h>

namespace {

using Flights = std::vector<std::shared_ptr<Flight>>;

// Time between the decision to start and the first sample's being due: the blocks' threads need some.
constexpr uint64_t HEADSTART_NS = 5000000;

uint64_t cpu_ns()
{
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

// Looks at every pipe again and again, from its first sample at the sink on.
class Sampler
{
public:
    Sampler(Flights flights, uint64_t period_us)
        : thread_([this, flights = std::move(flights), period_us] {
              while (!over_.load(std::memory_order_acquire)) {
                  std::this_thread::sleep_for(std::chrono::microseconds(period_us));
                  for (size_t pipe = 0; pipe < flights.size(); pipe++)
                      look(uint32_t(pipe), *flights[pipe]);
              }
          })
    {
    }

    ~Sampler()
    {
        over_.store(true, std::memory_order_release);
        thread_.join();
    }

private:
    static void look(uint32_t pipe, const Flight& flight)
    {
        // The sink's first: what it had, the source had handed on before.
        uint64_t consumed = flight.consumed.load(std::memory_order_acquire);
        uint64_t produced = flight.produced.load(std::memory_order_acquire);
        if (consumed > 0)
            dropline_in_flight(pipe, produced > consumed ? produced - consumed : 0);
    }

    std::atomic<bool> over_{false};
    std::thread thread_;
};

template <bool ENDS, bool STAGES>
gr::top_block_sptr build(const Settings& settings, const std::vector<Offer>& offers, uint64_t seed, const Flights& flights)
{
    auto graph = gr::make_top_block("dropline");
    // A buffer belongs to the block that writes to it.
    auto bounded = [&](gr::block_sptr block) {
        auto items = long(std::max<uint64_t>(settings.buffer_bytes / sizeof(float), 1));
        block->set_min_output_buffer(items);
        block->set_max_output_buffer(items);
        return block;
    };
    for (uint32_t pipe = 0; pipe < settings.pipes; pipe++) {
        const Offer& offer = offers[pipe];
        bool counted = !offer.backlog && offer.until_ns == 0;
        gr::block_sptr last = bounded(gnuradio::make_block_sptr<ProbedSource<ENDS>>(
            pipe, offer, settings.granularity, flights[pipe]));
        auto head = bounded(gr::blocks::head::make(sizeof(float), counted ? *settings.samples : INT64_MAX));
        graph->connect(last, 0, head, 0);
        last = head;
        for (uint32_t stage = 1; stage <= settings.stages; stage++) {
            auto copy = bounded(gnuradio::make_block_sptr<CopyRand<STAGES>>(pipe, stage, settings.max_copy,
                seed + (uint64_t(pipe) << 32 | stage), settings.granularity));
            graph->connect(last, 0, copy, 0);
            last = copy;
        }
        graph->connect(last, 0,
            gnuradio::make_block_sptr<ProbedSink<ENDS>>(pipe, settings.granularity, flights[pipe]), 0);
    }
    return graph;
}

} // namespace

nlohmann::json perform(const Settings& settings, const nlohmann::json& request)
{
    uint64_t entered_ns = dropline_monotonic_ns(), begins_ns = entered_ns + HEADSTART_NS;
    double load = request.at("intended_load_pps"), duration_s = request.at("duration_s");
    uint64_t seed = request.value("seed", uint64_t(0));
    auto duration_ns = uint64_t(duration_s * 1e9);
    Steady steady{uint64_t(std::llround(load * 1000.0 / settings.pipes))};
    bool paced = steady.rate > 0;
    Flights flights;
    std::vector<Offer> offers;
    // What the load asks for in all, dealt out so that no sample is missing.
    auto all = uint64_t(std::floor(load * duration_s));
    for (uint64_t pipe = 0; pipe < settings.pipes; pipe++) {
        flights.push_back(std::make_shared<Flight>());
        Offer offer;
        if (paced) {
            uint64_t total = all / settings.pipes + (pipe < all % settings.pipes ? 1 : 0);
            auto room = static_cast<unsigned __int128>(steady.rate) * settings.backlog_us / 1000000000u;
            offer.backlog.emplace(steady, total, uint64_t(room));
            offer.begins_ns = begins_ns;
            offer.gives_up_ns = begins_ns + duration_ns + settings.drain_us * 1000;
        } else if (!settings.samples)
            offer.until_ns = begins_ns + duration_ns;
        offers.push_back(offer);
    }
    auto make = !settings.probes ? build<false, false> : settings.residence ? build<true, true> : build<true, false>;
    auto graph = make(settings, offers, seed, flights);
    uint64_t started_ns = dropline_monotonic_ns(), cpu_before = cpu_ns();
    {
        std::unique_ptr<Sampler> sampler;
        if (settings.in_flight_us > 0)
            sampler = std::make_unique<Sampler>(flights, settings.in_flight_us);
        graph->run();
    }
    uint64_t ended_ns = dropline_monotonic_ns(), cpu_after = cpu_ns();
    uint64_t ran_ns = paced ? duration_ns : ended_ns - started_ns, offered = 0, forwarded = 0, lost = 0, waited = 0;
    nlohmann::json pipes = nlohmann::json::array();
    for (uint64_t pipe = 0; pipe < settings.pipes; pipe++) {
        const Flight& flight = *flights[pipe];
        uint64_t arrived = flight.consumed.load();
        uint64_t meant = offers[pipe].backlog ? offers[pipe].backlog->total() : settings.samples.value_or(arrived);
        pipes.push_back({{"offered", meant}, {"forwarded", arrived}, {"lost", flight.lost.load()},
            {"longest_backlog", flight.longest_backlog.load()}});
        offered += meant;
        forwarded += arrived;
        lost += flight.lost.load();
        waited = std::max(waited, flight.waiting_at_end.load());
    }
    nlohmann::json answer = {
        {"intended", offered},
        {"offered", offered},
        {"forwarded", forwarded},
        {"duration_s", double(std::max<uint64_t>(ran_ns, 1)) / 1e9},
        {"elapsed_s", double(std::max<uint64_t>({ended_ns - entered_ns, ran_ns, 1})) / 1e9},
        {"flowgraph",
            {{"framework", "GNU Radio " + gr::version()}, {"cpu_ns", cpu_after - cpu_before}, {"threads", settings.pipes * (settings.stages + 3)},
                {"buffer_bytes", (settings.buffer_bytes + 4095) / 4096 * 4096},
                {"granularity", settings.granularity}, {"pipes", pipes}}},
    };
    double waited_ms = paced ? double(waited) * 1e6 / double(steady.rate) : 0;
    if (paced && lost == 0 && waited_ms >= 0.2e-3 * double(settings.backlog_us)) {
        char text[200];
        snprintf(text, sizeof text,
            "nothing was lost, but %.1f ms of samples waited when the last came due: the graph falls behind, and a "
            "longer trial or a shorter backlog would show it as loss",
            waited_ms);
        answer["caveats"] = {{{"code", "falls_behind"}, {"text", text}}};
    }
    return answer;
}
