// What the program is told when it is started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// A graph: pipes x stages, and how it is looked at. The flags are those of dropline-futuresdr.
struct Settings {
    uint32_t pipes = 6, stages = 6;
    uint64_t buffer_bytes = 65536, max_copy = 512, granularity = 32768;
    // Of each pipe; without: as many as pass in the trial's duration.
    std::optional<uint64_t> samples;
    uint64_t backlog_us = 100000, drain_us = 2000000;
    bool probes = true, residence = false;
    // 0: nobody counts the samples under way.
    uint64_t in_flight_us = 0;
    // Empty: all.
    std::vector<int> cpus;

    // Throws std::invalid_argument if a flag is unknown or its value none.
    static Settings of_words(const std::vector<std::string>& words);
};
