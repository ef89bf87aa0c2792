//! What others measured: the original under the same compilers and counters, and its own notes.

/// The original's sizes, one for each of [`MACHINES`](super::machine::MACHINES): object, linked,
/// instructions, largest frame. Debian 12's compilers at -Os.
pub struct OriginalSize {
    /// Code and constants of the object.
    pub flash_bytes: u64,
    /// With what it needs of its libraries.
    pub linked_flash_bytes: Option<u64>,
    /// Machine instructions.
    pub instructions: u64,
}

const fn original(flash_bytes: u64, linked: u64, instructions: u64) -> OriginalSize {
    let linked_flash_bytes = if linked == 0 { None } else { Some(linked) };
    OriginalSize { flash_bytes, linked_flash_bytes, instructions }
}

/// In the order of the machines.
pub const ORIGINAL_SIZES: [OriginalSize; 9] = [
    original(227, 0, 70),
    original(340, 0, 101),
    original(228, 0, 86),
    original(325, 388, 158),
    original(323, 386, 151),
    original(221, 289, 98),
    original(209, 0, 78),
    original(315, 353, 101),
    original(313, 0, 103),
];

/// Sizes in the original's notes, in the order of the machines: amd64 and i386 with tables for unwinding.
pub const NOTES_SIZES: [Option<u64>; 9] =
    [Some(372), None, Some(385), Some(345), Some(335), None, None, None, None];

/// Instructions of amd64 for each heartbeat, wrong checksum, nonsense packet and report of the original,
/// for `gcc -Os`, `clang -Os` and `gcc -O3`, the loop's eight included.
pub const ORIGINAL_INSTRUCTIONS: [(&str, [u64; 4]); 3] =
    [("gcc -Os", [83, 70, 52, 1956]), ("clang -Os", [73, 63, 21, 2476]), ("gcc -O3", [56, 32, 24, 2697])];

/// Cycles of the original on the [`PARTS`](super::cycle::PARTS) at -Os: heartbeat, wrong checksum, nonsense
/// packet, report of zeros, report of 0xff; and its stack.
pub const ORIGINAL_CYCLES: [([u64; 5], u64); 2] =
    [([270, 232, 150, 5821, 5896], 16), ([275, 237, 155, 5825, 5900], 18)];

/// Nanoseconds for each heartbeat and report of the original on a Zen 4, by build.
pub const ORIGINAL_NANOSECONDS: [(&str, [f64; 2]); 3] =
    [("gcc -Os", [6.20, 154.0]), ("gcc -O2", [3.94, 149.0]), ("gcc -O3 -march=native", [3.42, 142.0])];

/// Quantitative sentences of the notes about cost, and what exact counting says to them.
pub const SENTENCES: [(&str, &str, &str); 11] = [
    (
        "Dumpulse takes about 200 ns to handle a heartbeat message and 8 μs to send a health report",
        "wrong",
        "a heartbeat is 28 ns in their own loop; with the system calls around it 6.3 μs, as they measure below",
    ),
    (
        "dumpulse is 356 bytes of amd64 code and 76 instructions. (-fPIC adds two more bytes.)",
        "depends",
        "of today's 372, some 88 are tables for unwinding: 227 bytes and 70 instructions without, and -fPIC adds \
         what the table above shows",
    ),
    (
        "ATTiny88 … it’s 323 bytes and 157 instructions; … ATMega328, it’s 329 bytes and 155 instructions",
        "depends",
        "325 and 323 with avr-gcc 5.4, as an object alone; 388 and 386 with what it pulls in",
    ),
    (
        "all of these versions will pull in memcmp from libc, and the AVR versions also __do_copy_data",
        "holds",
        "and __bswapsi2 on the AVR; the table above shows what a source leaves undefined",
    ),
    (
        "the health report costs 5227 amd64 instructions, each heartbeat costs 128 instructions",
        "depends",
        "of the whole server and its first Adler-32; one report is measured with its first call's binding of \
         symbols in it, 1433 instructions",
    ),
    (
        "an extra one-time cost of 947 instructions for the first heartbeat, probably related to … time()",
        "depends",
        "it is the dynamic linker's lazy binding: 696 for the first heartbeat, 1433 for the first report",
    ),
    (
        "0.4 seconds of user CPU time and 5.9 seconds of system CPU time … about 400 ns per packet, or 6.3 μs",
        "depends",
        "the sum holds; the split is by ticks of 10 ms and useless. The protocol is 1 % of it, the kernel the rest",
    ),
    (
        "the health report takes about 40 times as long as processing a heartbeat",
        "depends",
        "5227 ÷ 128 is 40.8; for the code alone the ratio is in the table of instructions",
    ),
    (
        "27–29 nanoseconds; … on a single core, my laptop could thus handle some 35 million heartbeat requests per \
         second",
        "depends",
        "28 ns are 35.7 million, without a socket; with one, 6.3 μs are 159 thousand",
    ),
    (
        "-O5 -fomit-frame-pointer instead, loopbench handles 1 billion packets in 16 seconds, thus 16 ns per packet",
        "holds",
        "there is no -O5 beyond -O3, and the arithmetic is right",
    ),
    (
        "the cost per setvar has gone from 128 instructions down to 122, and the cost for a health report has gone \
         down from 5227 to either 4317 or 4517",
        "depends",
        "122.0 fits 161158, 173236 and 283036; 164406 − 160089 = 4317, and 287353 − 283036 = 4317 too, so 4517 was \
         the slip; both hold the first call's cost, the marginal report is 1985",
    ),
];
