// A GNU Radio graph as a program that performs trials: asked on stdin, answered on stdout, traced by
// c/trace/dropline_trace.h where DROPLINE_TRACE names a session. It is the twin of dropline-futuresdr.
#define DROPLINE_TRACE_IMPLEMENTATION
#include "dropline_trace.h"

#include "graph.hpp"

#include <cstdio>
#include <iostream>
#include <sched.h>
#include <unistd.h>

namespace {

const char* const USAGE = R"(dropline-gnuradio: a GNU Radio graph that performs trials

Reads one JSON object a line, as {"intended_load_pps":1e6,"duration_s":1,"seed":7}, runs the graph
and answers with one. A load of 0 offers as much as the graph takes. A thread runs each block.

  --pipes 6             pipes beside one another
  --stages 6            copy blocks in each pipe
  --scheduler tpb       there is no other
  --buffer-bytes 65536  of each buffer between two blocks
  --max-copy 512        a copy block moves 1 to so many samples a call, at random
  --granularity 32768   samples between two tracepoints
  --samples N           of each pipe; without it the trial's duration counts
  --backlog-us 100000   how long a due sample may wait in front of the graph
  --drain-us 2000000    how long what waits may still go in after the last was due
  --probes on           off: a graph without tracepoints
  --residence off       on: a tracepoint behind each copy block too
  --in-flight-us 0      how often the samples under way are counted
  --cpus 0,1            use these CPUs only
)";

// Keeps the process, and so every thread that it will start, to these CPUs.
void keep_to(const std::vector<int>& cpus)
{
    if (cpus.empty())
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus)
        CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        throw std::invalid_argument("--cpus: this machine has none of them");
}

} // namespace

int main(int count, char** words)
{
    try {
        std::vector<std::string> flags(words + 1, words + count);
        for (const auto& flag : flags)
            if (flag == "--help" || flag == "-h") {
                std::cout << USAGE;
                return 0;
            }
        Settings settings = Settings::of_words(flags);
        keep_to(settings.cpus);
        // GNU Radio writes its notes to stdout; answers alone shall stand there.
        FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
        dup2(STDERR_FILENO, STDOUT_FILENO);
        // Maps the session's rings before the first trial: page faults are no part of it.
        dropline_join();
        for (std::string line; std::getline(std::cin, line);) {
            if (line.find_first_not_of(" \t\r") == std::string::npos)
                continue;
            std::string answer = perform(settings, nlohmann::json::parse(line)).dump() + "\n";
            if (fputs(answer.c_str(), answers) < 0 || fflush(answers) != 0)
                return 1;
        }
        return 0;
    } catch (const std::exception& why) {
        std::cerr << "dropline-gnuradio: " << why.what() << "\n";
        return 2;
    }
}
