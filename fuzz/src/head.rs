//! The first bytes of a session in shared memory, which programs under test map by what they say.

use dropline_trace::Shape;

/// A session that is taken has the length that it says, and says nothing else of another length.
pub fn check(bytes: &[u8]) {
    let Some((head, _)) = bytes.split_first_chunk() else { return };
    // Whatever it says of itself: the length that this would be, and those beside it.
    let rings = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
    let capacity = u64::from_le_bytes(head[16..24].try_into().expect("eight bytes"));
    let said = Shape { rings, capacity, ..Shape::default() }.bytes().map(|bytes| bytes as u64);
    let tried = [said, said.and_then(|said| said.checked_sub(1)), said.and_then(|said| said.checked_add(1))];
    for length in tried.into_iter().flatten().chain([0, bytes.len() as u64, u64::MAX]) {
        let Some((shape, _)) = Shape::of_head(head, length) else { continue };
        assert_eq!(Some(length), said);
        assert_eq!((shape.rings, shape.capacity), (rings, capacity));
        assert!(rings > 0 && capacity.is_power_of_two());
        // The first page, and a slot of 32 bytes for each event that it has room for.
        assert!(length > 4096 && u128::from(length) > 32 * u128::from(capacity) * u128::from(rings));
    }
}
