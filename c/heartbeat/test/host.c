/* Runs the checks where there is an operating system, and names the rules that were broken. */
#include "checks.h"
#include <stdio.h>

#define RULE(name) #name,
static const char *const names[] = {RULES(RULE)};
#undef RULE
static unsigned broken[RULE_COUNT];

static void failed(int rule)
{
    broken[rule]++;
}

int main(void)
{
    int rule, kept = 1;
    run_checks(200, failed);
    for (rule = 0; rule < RULE_COUNT; rule++) {
        if (broken[rule]) {
            printf("broken: %s (%u times)\n", names[rule], broken[rule]);
            kept = 0;
        }
    }
    return kept ? 0 : 1;
}
