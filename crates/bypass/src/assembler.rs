//! Writes BPF programs as instructions, so that nothing needs clang.
//!
//! Encoding: Documentation/bpf/standardization/instruction-set.rst.

/// Verdicts of an XDP program (linux/bpf.h, `enum xdp_action`).
pub(crate) const XDP_DROP: i32 = 1;
pub(crate) const XDP_PASS: i32 = 2;

/// One instruction.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high half.
    registers: u8,
    offset: i16,
    value: i32,
}

/// Registers. A helper takes R1 to R5, changes R0 to R5, and returns R0. R10 is the end of the
/// stack.
#[derive(Clone, Copy)]
pub(crate) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10 = 10,
}

/// Width of a load or store, bytes.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Width {
    Four = 0x00,
    Two = 0x08,
    One = 0x10,
}

/// Comparisons of jumps, of numbers without sign.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum JumpCondition {
    Equal = 0x10,
    Above = 0x20,
    Other = 0x50,
}

/// Helpers of the kernel, by number (linux/bpf.h).
#[derive(Clone, Copy)]
pub(crate) enum Helper {
    MapLookupElem = 1,
    RedirectMap = 51,
}

/// A place in a program to which it jumps, forwards only.
#[derive(Clone, Copy)]
pub(crate) struct Label(usize);

/// A program that grows.
#[derive(Default)]
pub(crate) struct Assembler {
    program: Vec<Instruction>,
    jumps: Vec<(usize, Label)>,
    places: Vec<Option<usize>>,
}

impl Assembler {
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Where jumps to that label arrive.
    pub(crate) fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.program.len());
    }

    pub(crate) fn copy(&mut self, to: Register, from: Register) {
        self.push(0xbf, to, from as u8, 0, 0);
    }

    pub(crate) fn set(&mut self, to: Register, value: i32) {
        self.push(0xb7, to, 0, 0, value);
    }

    /// Sets all 64 bits. Takes two instructions.
    pub(crate) fn set_wide(&mut self, to: Register, value: u64) {
        self.push(0x18, to, 0, 0, value as u32 as i32);
        self.push(0, Register::R0, 0, 0, (value >> 32) as i32);
    }

    pub(crate) fn add(&mut self, to: Register, value: i32) {
        self.push(0x07, to, 0, 0, value);
    }

    pub(crate) fn add_register(&mut self, to: Register, from: Register) {
        self.push(0x0f, to, from as u8, 0, 0);
    }

    pub(crate) fn subtract_register(&mut self, to: Register, from: Register) {
        self.push(0x1f, to, from as u8, 0, 0);
    }

    pub(crate) fn and(&mut self, to: Register, value: i32) {
        self.push(0x57, to, 0, 0, value);
    }

    pub(crate) fn xor(&mut self, to: Register, value: i32) {
        self.push(0xa7, to, 0, 0, value);
    }

    pub(crate) fn xor_register(&mut self, to: Register, from: Register) {
        self.push(0xaf, to, from as u8, 0, 0);
    }

    pub(crate) fn multiply_register(&mut self, to: Register, from: Register) {
        self.push(0x2f, to, from as u8, 0, 0);
    }

    pub(crate) fn shift_right(&mut self, to: Register, bits: i32) {
        self.push(0x77, to, 0, 0, bits);
    }

    /// A number of 16 bits between the packet's order of bytes and the processor's.
    pub(crate) fn swap_be16(&mut self, register: Register) {
        self.push(0xdc, register, 0, 0, 16);
    }

    pub(crate) fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.push(0x61 | width as u8, to, from as u8, offset, 0);
    }

    pub(crate) fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.push(0x63 | width as u8, to, from as u8, offset, 0);
    }

    /// Adds to a number of eight bytes in memory, in one step that no other core sees half of.
    pub(crate) fn add_atomic(&mut self, to: Register, offset: i16, from: Register) {
        self.push(0xdb, to, from as u8, offset, 0);
    }

    /// The same; `from` becomes what the number was before.
    pub(crate) fn add_atomic_and_fetch(&mut self, to: Register, offset: i16, from: Register) {
        const FETCH: i32 = 1;
        self.push(0xdb, to, from as u8, offset, FETCH);
    }

    /// A pointer to a map, by its descriptor. Takes two instructions.
    pub(crate) fn map(&mut self, to: Register, descriptor: i32) {
        const IS_A_MAP: u8 = 1;
        self.push(0x18, to, IS_A_MAP, 0, descriptor);
        self.push(0, Register::R0, 0, 0, 0);
    }

    pub(crate) fn call(&mut self, helper: Helper) {
        self.push(0x85, Register::R0, 0, 0, helper as i32);
    }

    /// R0 becomes a pointer to the value of the key of that map at `R10 + key`, or null.
    pub(crate) fn look_up(&mut self, descriptor: i32, key: i32) {
        self.map(Register::R1, descriptor);
        self.copy(Register::R2, Register::R10);
        self.add(Register::R2, key);
        self.call(Helper::MapLookupElem);
    }

    pub(crate) fn jump_if(&mut self, register: Register, is: JumpCondition, value: i32, to: Label) {
        self.jumps.push((self.program.len(), to));
        self.push(0x05 | is as u8, register, 0, 0, value);
    }

    /// Compares the low 32 bits: a value of that width is no negative number here.
    pub(crate) fn jump_if_32(
        &mut self,
        register: Register,
        is: JumpCondition,
        value: u32,
        to: Label,
    ) {
        self.jumps.push((self.program.len(), to));
        self.push(0x06 | is as u8, register, 0, 0, value as i32);
    }

    pub(crate) fn jump_if_register(
        &mut self,
        a: Register,
        is: JumpCondition,
        b: Register,
        to: Label,
    ) {
        self.jumps.push((self.program.len(), to));
        self.push(0x0d | is as u8, a, b as u8, 0, 0);
    }

    /// Ends with that verdict.
    pub(crate) fn exit(&mut self, verdict: i32) {
        self.set(Register::R0, verdict);
        self.exit_with_r0();
    }

    pub(crate) fn exit_with_r0(&mut self) {
        self.push(0x95, Register::R0, 0, 0, 0);
    }

    /// The program, with the offsets of its jumps.
    ///
    /// # Panics
    /// If a label has no place: a mistake in the program's text.
    pub(crate) fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let place = self.places[label.0].expect("each label has a place");
            self.program[at].offset = (place - at - 1) as i16;
        }
        self.program
    }

    fn push(&mut self, code: u8, to: Register, from: u8, offset: i16, value: i32) {
        let registers = to as u8 | from << 4;
        self.program.push(Instruction { code, registers, offset, value });
    }
}

/// A number of 16 bits as a load finds it in a packet.
pub(crate) fn be16(value: u16) -> i32 {
    i32::from(u16::from_ne_bytes(value.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of an instruction are those of the kernel's document.
    #[test]
    fn instructions_are_encoded_as_the_kernel_says() {
        let mut text = Assembler::default();
        let end = text.label();
        text.load(Width::Two, Register::R5, Register::R2, 12);
        text.jump_if(Register::R5, JumpCondition::Other, 8, end);
        text.jump_if_register(Register::R4, JumpCondition::Above, Register::R3, end);
        text.add_atomic(Register::R0, 8, Register::R1);
        text.place(end);
        text.exit(XDP_PASS);
        text.set_wide(Register::R7, 0xbf58_476d_1ce4_e5b9);
        text.multiply_register(Register::R6, Register::R7);
        text.xor_register(Register::R6, Register::R1);
        text.add_atomic_and_fetch(Register::R0, 8, Register::R6);
        let words = |one: &Instruction| (one.code, one.registers, one.offset, one.value);
        let program: Vec<_> = text.finish().iter().map(words).collect();
        let expected = [
            (0x69, 0x25, 12, 0),
            (0x55, 0x05, 2, 8),
            (0x2d, 0x34, 1, 0),
            (0xdb, 0x10, 8, 0),
            (0xb7, 0x00, 0, 2),
            (0x95, 0x00, 0, 0),
            (0x18, 0x07, 0, 0x1ce4_e5b9),
            (0x00, 0x00, 0, 0xbf58_476d_u32 as i32),
            (0x2f, 0x76, 0, 0),
            (0xaf, 0x16, 0, 0),
            (0xdb, 0x60, 8, 1),
        ];
        assert_eq!(program, expected);
    }
}
