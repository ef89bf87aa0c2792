//! Arrival processes as users write them; files are read here.

use dropline_archive::reading::{self, Unread};
use dropline_failure::Failure;
use dropline_record::PacketFile;
use dropline_targets::captured_times;
use dropline_trial::arrival::{KINDS, read_times};
use dropline_trial::number_of;
use dropline_trial::{Arrival, Pace, Rate};
use std::path::Path;

/// Reads an arrival process, and the file of a `replay:`; of a capture, the times of what would be sent to a target with this port.
///
/// # Errors
/// If there is no such process, its parameters are wrong, or the file holds no departure times.
pub fn arrival(word: &str, port: Option<u16>) -> Result<Arrival, Failure> {
    Arrival::parse(word, &mut |name| times(name, port)).map_err(|why| {
        let processes: Vec<&str> = KINDS.iter().map(|kind| kind.written).collect();
        Failure::usage(format!("--arrival: {why}")).advice(format!("there are {}", processes.join("  ")))
    })
}

/// The same from the record in this file, which may come from elsewhere: the file that it names is opened only if it is a file of the
/// record's own directory, and nothing of what is in it is shown.
///
/// # Errors
/// As [`arrival`].
pub(crate) fn arrival_of_record(word: &str, port: Option<u16>, record: &Path) -> Result<Arrival, Failure> {
    let mut regular = |name: &str| match std::fs::metadata(name) {
        _ if !reading::lies_beside(record, Path::new(name)) => Err(format!(
            "{name} is not of the record's own directory, and a record, which may come from elsewhere, opens no other file: if it \
             is meant, resume a copy of the record that lies beside it"
        )),
        Ok(found) if found.is_file() => {
            times(name, port).map_err(|_| "it holds no departure times".to_owned())
        }
        Ok(_) => Err("it is not a file".to_owned()),
        Err(why) => Err(format!("cannot be read: {why}")),
    };
    Arrival::parse(word, &mut regular).map_err(|why| {
        Failure::environment(format!("the arrivals that the record names cannot be made: {why}"))
    })
}

/// The load of a trial with this process: the one asked for, or its own.
///
/// # Errors
/// If one is needed and missing, given and refused, or leaves the process no room.
pub fn load(arrival: &Arrival, asked: Option<Rate>) -> Result<Rate, Failure> {
    match (arrival.pace(), asked) {
        (Pace::Load | Pace::LoadOr(_), Some(load)) => {
            arrival.check(load).map_err(|why| Failure::usage(format!("--load: {why}"))).map(|()| load)
        }
        (Pace::LoadOr(own) | Pace::Own(own), None) => Ok(own),
        // What a closed loop comes to is known afterwards.
        (Pace::Closed(_), None) => Ok(Rate::LOWEST),
        (Pace::Load, None) => Err(Failure::usage("a trial needs --load, such as --load 10kpps")),
        (Pace::Own(_) | Pace::Closed(_), Some(_)) => {
            Err(Failure::usage(format!("--load: {arrival} has its own clocks and takes no load"))
                .advice("leave --load out: what it offers is measured"))
        }
    }
}

/// Refuses processes that no load can be searched for with.
///
/// # Errors
/// If the process takes no load.
pub fn searchable(arrival: &Arrival) -> Result<(), Failure> {
    if arrival.paces_itself() {
        return Err(Failure::usage(format!(
            "--arrival: {arrival} has its own clocks: there is no load to search"
        ))
        .advice("measure it with  dropline trial"));
    }
    Ok(())
}

/// Refuses processes without a schedule, for targets that processes cannot send to.
///
/// # Errors
/// If the process is a closed loop.
pub fn scheduled(arrival: &Arrival) -> Result<(), Failure> {
    if matches!(arrival.pace(), Pace::Closed(_)) {
        return Err(Failure::usage(format!("--arrival: {arrival} is made of processes that send packets"))
            .advice("they need a udp:// target that is sent packets of ours, without --payload"));
    }
    Ok(())
}

/// Departure times of a `RECORD.packets`, of a capture, or of a text with a number of nanoseconds a line.
fn times(name: &str, port: Option<u16>) -> Result<Vec<u64>, String> {
    let path = Path::new(name);
    let unread = |why: Unread| format!("cannot be read: {why}");
    if name.ends_with(PacketFile::SUFFIX) {
        let bytes = reading::bytes(path, reading::MOST_PACKETS).map_err(unread)?;
        let file = PacketFile::read(&bytes).map_err(|why| why.to_string())?;
        if file.missing > 0 {
            let kept = file.times.len();
            return Err(format!(
                "the file was cut off or damaged: of {} the times of {} are gone, and what is left is another process",
                number_of(kept as u64 + file.missing, "packet"),
                file.missing
            ));
        }
        return Ok(file.times.iter().filter_map(|packet| packet.left_ns).collect());
    }
    let bytes = reading::bytes(path, reading::MOST_BYTES).map_err(unread)?;
    if let Some(times) = captured_times(&bytes, port) {
        return times;
    }
    let text = reading::as_text(bytes).map_err(|why| match why {
        Unread::NotText(_) => {
            format!("is not text with a number of ns a line, and not named …{} either", PacketFile::SUFFIX)
        }
        why => unread(why),
    })?;
    read_times(&text).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_replayed_from_a_text_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seen.ns");
        std::fs::write(&path, "# ns\n1000\n1500\n9000\n").unwrap();
        let read = arrival(&format!("replay:{}", path.display()), None).unwrap();
        assert_eq!(load(&read, None).unwrap(), Rate::pps(250_000.0).unwrap());
        std::fs::write(&path, "soon\n").unwrap();
        let why = arrival(&format!("replay:{}", path.display()), None).unwrap_err().to_string();
        assert!(why.contains("line 1 is not a whole number of ns"), "{why}");
    }

    #[test]
    fn a_capture_is_replayed_at_its_own_times() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seen.pcap");
        let udp = |port: u8| {
            [&[0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17][..], &[0; 10], &[1, 1, 0, port, 0, 9, 0, 0, b'x']].concat()
        };
        let mut bytes = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
        for (time, port) in [(0, 7), (2, 9), (10, 7), (20, 7)] {
            bytes.extend([1, time, 29, 29].map(u32::to_le_bytes).concat());
            bytes.extend(udp(port));
        }
        std::fs::write(&path, &bytes).unwrap();
        let read = arrival(&format!("replay:{}", path.display()), None).unwrap();
        assert_eq!(load(&read, None).unwrap(), Rate::pps(100_000.0).unwrap(), "10 us between two to port 7");
        let why = arrival(&format!("replay:{}", path.display()), Some(9)).unwrap_err().to_string();
        assert!(why.contains("holds 1 departure times"), "port 9 was asked once: {why}");
        std::fs::write(&path, &bytes[..60]).unwrap();
        let why = arrival(&format!("replay:{}", path.display()), None).unwrap_err().to_string();
        assert!(why.contains("cut off"), "{why}");
    }

    #[test]
    fn a_recording_that_was_cut_off_is_refused_and_not_replayed_as_what_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seen.jsonl.packets");
        let mut times = dropline_trial::PacketTimes::with_room(20_000, false);
        (0..20_000u64).for_each(|n| times.departures.push(n * 1000, Some(n * 1000), 0));
        let bytes = PacketFile::to_bytes(1, 7, &times);
        let word = format!("replay:{}", path.display());
        std::fs::write(&path, &bytes).unwrap();
        arrival(&word, None).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let why = arrival(&word, None).unwrap_err().to_string();
        assert!(why.contains("cut off or damaged: of 20000 packets"), "{why}");
    }

    #[test]
    fn what_a_record_names_is_opened_only_as_a_file_and_nothing_of_it_is_shown() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "root:x:0\n").unwrap();
        let word = format!("replay:{}", path.display());
        assert!(
            arrival(&word, None).unwrap_err().to_string().contains("root"),
            "who types it sees what is wrong"
        );
        let record = directory.path().join("r.jsonl");
        let why = arrival_of_record(&word, None, &record).unwrap_err();
        assert!(why.exit_code() == 4 && !why.to_string().contains("root"), "{why}");
        // A pipe without a writer would be waited for.
        for device in ["/dev/zero", "/dev/tty", "/dev"] {
            let beside = Path::new("/dev/r.jsonl");
            let why = arrival_of_record(&format!("replay:{device}"), None, beside).unwrap_err().to_string();
            assert!(why.contains("it is not a file"), "{why}");
        }
        std::fs::write(&path, "1000\n1500\n9000\n").unwrap();
        assert_eq!(arrival_of_record(&word, None, &record).unwrap(), arrival(&word, None).unwrap());
        for elsewhere in ["r.jsonl", "/r.jsonl", "s3://bucket/r.jsonl"] {
            let why = arrival_of_record(&word, None, Path::new(elsewhere)).unwrap_err().to_string();
            assert!(why.contains("not of the record's own directory"), "{why}");
        }
    }

    #[test]
    fn a_process_with_its_own_clocks_takes_no_load_and_is_not_searched() {
        let asked = Some(Rate::pps(100.0).unwrap());
        for word in ["ticks:n=4,period=20ms", "clients:n=4,think=1ms", "yield:n=4"] {
            let process = arrival(word, None).unwrap();
            assert_eq!(load(&process, asked).unwrap_err().exit_code(), 2, "{word}");
            assert_eq!(searchable(&process).unwrap_err().exit_code(), 2, "{word}");
            assert!(load(&process, None).is_ok(), "{word}");
        }
        assert_eq!(
            load(&arrival("ticks:n=4,period=20ms", None).unwrap(), None).unwrap(),
            Rate::pps(200.0).unwrap()
        );
        assert!(load(&Arrival::poisson(), None).is_err() && searchable(&Arrival::poisson()).is_ok());
    }
}
