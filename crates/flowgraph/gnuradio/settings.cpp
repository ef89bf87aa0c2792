#include "settings.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>

namespace {

uint64_t number(const std::string& flag, const std::string& value, uint64_t least, uint64_t most = UINT64_MAX)
{
    uint64_t found = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), found);
    if (error != std::errc() || end != value.data() + value.size() || found < least || found > most)
        throw std::invalid_argument(flag + " \"" + value + "\": a whole number, at least " + std::to_string(least));
    return found;
}

bool on_or_off(const std::string& flag, const std::string& value)
{
    if (value != "on" && value != "off")
        throw std::invalid_argument(flag + " \"" + value + "\": on or off");
    return value == "on";
}

} // namespace

Settings Settings::of_words(const std::vector<std::string>& words)
{
    Settings settings;
    for (size_t word = 0; word < words.size(); word += 2) {
        const std::string& flag = words[word];
        if (word + 1 == words.size())
            throw std::invalid_argument(flag + " has no value");
        const std::string& value = words[word + 1];
        if (flag == "--pipes")
            settings.pipes = uint32_t(number(flag, value, 1, UINT32_MAX));
        else if (flag == "--stages")
            settings.stages = uint32_t(number(flag, value, 0, UINT32_MAX));
        else if (flag == "--scheduler") {
            if (value != "tpb")
                throw std::invalid_argument("there is no scheduler \"" + value + "\"; GNU Radio has tpb");
        } else if (flag == "--buffer-bytes")
            settings.buffer_bytes = number(flag, value, 1, INT64_MAX);
        else if (flag == "--max-copy")
            settings.max_copy = number(flag, value, 1);
        else if (flag == "--granularity")
            settings.granularity = number(flag, value, 1);
        else if (flag == "--samples")
            settings.samples = number(flag, value, 1);
        else if (flag == "--backlog-us")
            settings.backlog_us = number(flag, value, 1);
        else if (flag == "--drain-us")
            settings.drain_us = number(flag, value, 0);
        else if (flag == "--probes")
            settings.probes = on_or_off(flag, value);
        else if (flag == "--residence")
            settings.residence = on_or_off(flag, value);
        else if (flag == "--in-flight-us")
            settings.in_flight_us = number(flag, value, 0);
        else if (flag == "--cpus") {
            std::istringstream list(value);
            settings.cpus.clear();
            for (std::string cpu; std::getline(list, cpu, ',');)
                settings.cpus.push_back(int(number(flag, cpu, 0, 1023)));
        } else
            throw std::invalid_argument("there is no flag " + flag + "; see --help");
    }
    return settings;
}
