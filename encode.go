package neardup

import (
	"database/sql/driver"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/minhash"
)

// Fingerprints are written in three forms. All of them have the most significant bit first, so they
// sort as numbers:
//
//	text    16 or 32 lower-case hexadecimal digits (also in JSON)
//	binary  8 or 16 bytes, big-endian
//	SQL     a signed 64-bit integer, or 16 bytes
//
// Signatures have a binary form only, and packed ones a text form too (base64).
//
// A fingerprint alone does not say how it was made. Store Fingerprinter.Version beside
// fingerprints; WriteFingerprints does so. A failed decode leaves its receiver unchanged.

// String returns 16 lower-case hexadecimal digits. Print fingerprints with %v or %s: %x would encode
// these digits once more.
func (a Fingerprint64) String() string { return string(a.appendHex(nil)) }

// String returns 32 lower-case hexadecimal digits; see [Fingerprint64.String].
func (a Fingerprint128) String() string { return string(a.appendHex(nil)) }

func (a Fingerprint64) appendHex(b []byte) []byte {
	return hex.AppendEncode(b, binary.BigEndian.AppendUint64(nil, uint64(a)))
}

func (a Fingerprint128) appendHex(b []byte) []byte {
	return Fingerprint64(a.Lo).appendHex(Fingerprint64(a.Hi).appendHex(b))
}

// Bits returns 64 binary digits, bit 63 first.
func (a Fingerprint64) Bits() string { return fmt.Sprintf("%064b", uint64(a)) }

// Bits returns 128 binary digits, bit 127 first.
func (a Fingerprint128) Bits() string { return fmt.Sprintf("%064b%064b", a.Hi, a.Lo) }

// parseFingerprint is UnmarshalText for both widths.
func parseFingerprint[F Fingerprint](s string) (F, error) {
	if width[F]() == 64 {
		lo, err := parseWord(s, 16, s)
		return fromWords[F](lo, 0), err
	}
	half := len(s) / 2
	hi, err := parseWord(s[:half], 32, s)
	if err != nil {
		return fromWords[F](0, 0), err
	}
	lo, err := parseWord(s[half:], 32, s)
	if err != nil {
		return fromWords[F](0, 0), err
	}
	return fromWords[F](lo, hi), nil
}

// parseWord parses 64 bits. word is the whole text, or one half of it. digits is the number of
// hexadecimal digits that whole must have, or a quarter of the number of binary digits.
func parseWord(word string, digits int, whole string) (uint64, error) {
	base := 16
	if len(word) == 64 {
		base = 2
	}
	// ParseUint takes no sign, and underscores only in base 0.
	x, err := strconv.ParseUint(word, base, 64)
	if err != nil || len(whole) != digits && len(whole) != 4*digits || len(whole) != len(word)*digits/16 {
		return 0, fmt.Errorf("neardup: %q is not a fingerprint of %d hexadecimal or %d binary digits", format.Clip(whole), digits, 4*digits)
	}
	return x, nil
}

// AppendText implements [encoding.TextAppender].
func (a Fingerprint64) AppendText(b []byte) ([]byte, error) { return a.appendHex(b), nil }

// AppendText implements [encoding.TextAppender].
func (a Fingerprint128) AppendText(b []byte) ([]byte, error) { return a.appendHex(b), nil }

// MarshalText implements [encoding.TextMarshaler].
func (a Fingerprint64) MarshalText() ([]byte, error) { return a.appendHex(nil), nil }

// MarshalText implements [encoding.TextMarshaler].
func (a Fingerprint128) MarshalText() ([]byte, error) { return a.appendHex(nil), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It reads what String or Bits returned: 16 hexadecimal or 64 binary
// digits. Hexadecimal digits may be of either case. Anything else is an error, including signs, prefixes and white space.
func (a *Fingerprint64) UnmarshalText(text []byte) error {
	fp, err := parseFingerprint[Fingerprint64](string(text))
	if err == nil {
		*a = fp
	}
	return err
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It reads 32 hexadecimal or 128 binary digits, as
// [Fingerprint64.UnmarshalText] does.
func (a *Fingerprint128) UnmarshalText(text []byte) error {
	fp, err := parseFingerprint[Fingerprint128](string(text))
	if err == nil {
		*a = fp
	}
	return err
}

// AppendBinary implements [encoding.BinaryAppender]: 8 bytes, big-endian.
func (a Fingerprint64) AppendBinary(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(b, uint64(a)), nil
}

// AppendBinary implements [encoding.BinaryAppender]: 16 bytes, big-endian.
func (a Fingerprint128) AppendBinary(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, a.Hi), a.Lo), nil
}

// MarshalBinary implements [encoding.BinaryMarshaler]: 8 bytes, big-endian.
func (a Fingerprint64) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// MarshalBinary implements [encoding.BinaryMarshaler]: 16 bytes, big-endian.
func (a Fingerprint128) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. Data of any length but 8 bytes is an error.
func (a *Fingerprint64) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("neardup: a 64-bit fingerprint has 8 bytes, not %d", len(data))
	}
	*a = Fingerprint64(binary.BigEndian.Uint64(data))
	return nil
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. Data of any length but 16 bytes is an error.
func (a *Fingerprint128) UnmarshalBinary(data []byte) error {
	if len(data) != 16 {
		return fmt.Errorf("neardup: a 128-bit fingerprint has 16 bytes, not %d", len(data))
	}
	*a = Fingerprint128{binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])}
	return nil
}

// Value implements [driver.Valuer]: the same 64 bits as a signed integer, for a BIGINT column.
// Fingerprints with bit 63 set become negative. The distance of two columns is then BIT_COUNT(a ^
// b) in MySQL and bit_count((a # b)::bit(64)) in PostgreSQL.
func (a Fingerprint64) Value() (driver.Value, error) { return int64(a), nil }

// Value implements [driver.Valuer]: 16 bytes, big-endian, for a BINARY(16), BYTEA or BLOB column.
func (a Fingerprint128) Value() (driver.Value, error) { return a.AppendBinary(nil) }

// Scan implements [sql.Scanner]; it is the inverse of Value. It also accepts unsigned integers, and
// integers as decimal text, which some drivers return. Hexadecimal text is an error, because it
// could be read as a decimal number: use UnmarshalText for such columns. NULL is an error too:
// scan into a [sql.Null] if a column has it.
func (a *Fingerprint64) Scan(src any) error {
	switch src := src.(type) {
	case int64:
		*a = Fingerprint64(src)
		return nil
	case uint64:
		*a = Fingerprint64(src)
		return nil
	case []byte:
		return a.Scan(string(src))
	case string:
		if x, err := strconv.ParseInt(src, 10, 64); err == nil {
			*a = Fingerprint64(x)
			return nil
		}
		if x, err := strconv.ParseUint(src, 10, 64); err == nil {
			*a = Fingerprint64(x)
			return nil
		}
		return fmt.Errorf("neardup: cannot scan %q as a 64-bit fingerprint: not a decimal integer", format.Clip(src))
	}
	return fmt.Errorf("neardup: cannot scan %T as a 64-bit fingerprint", src)
}

// Scan implements [sql.Scanner]. It accepts 16 bytes, and text as UnmarshalText does. NULL is
// an error: scan into a [sql.Null] if a column has it.
func (a *Fingerprint128) Scan(src any) error {
	switch src := src.(type) {
	case []byte:
		if len(src) == 16 {
			return a.UnmarshalBinary(src)
		}
		return a.UnmarshalText(src)
	case string:
		return a.Scan([]byte(src))
	}
	return fmt.Errorf("neardup: cannot scan %T as a 128-bit fingerprint", src)
}

// AppendBinary appends the values, 4 bytes each, big-endian. The error is always nil.
func (s Signature) AppendBinary(b []byte) ([]byte, error) {
	for _, v := range s {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b, nil
}

// MarshalBinary returns the values, 4 bytes each, big-endian. The error is always nil.
func (s Signature) MarshalBinary() ([]byte, error) {
	return s.AppendBinary(make([]byte, 0, 4*len(s)))
}

// UnmarshalBinary reads what AppendBinary wrote, 16 to 4096 values. It returns an error for any
// other length, and for values that no set has; s is unchanged then. It keeps no reference to data.
func (s *Signature) UnmarshalBinary(data []byte) error {
	n := len(data) / 4
	if len(data)%4 != 0 || n < minhash.MinValues || n > minhash.MaxValues {
		return fmt.Errorf("neardup: %d bytes are not a signature of %d to %d values", len(data), minhash.MinValues, minhash.MaxValues)
	}
	out := make(Signature, n)
	own, empty := 0, 0
	for i := range out {
		out[i] = binary.BigEndian.Uint32(data[4*i:])
		switch v := out[i]; {
		case v < minhash.Borrowed:
			own++
		case v == minhash.EmptyBin:
			empty++
		}
	}
	if empty != n && (empty > 0 || own == 0) {
		return fmt.Errorf("neardup: no set has this signature: of %d values, %d are its own and %d are empty", n, own, empty)
	}
	*s = out
	return nil
}

// AppendBinary appends the number of values (2 bytes), the number of bits (1 byte, with its highest
// bit set if the set is empty), and the words that hold the values (8 bytes each), all big-endian.
// The error is always nil.
func (p PackedSignature) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint16(b, uint16(p.values))
	flags := byte(p.bits)
	if p.empty {
		flags |= 0x80
	}
	b = append(b, flags)
	for _, w := range p.words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b, nil
}

// MarshalBinary returns what AppendBinary appends. The error is always nil.
func (p PackedSignature) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// MarshalText returns what AppendBinary appends, in standard base64. The error is always nil.
func (p PackedSignature) MarshalText() ([]byte, error) {
	b, err := p.AppendBinary(nil)
	return base64.StdEncoding.AppendEncode(nil, b), err
}

// UnmarshalText reads what MarshalText wrote. After an error p is unchanged.
func (p *PackedSignature) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("%w: %w", errPacked, err)
	}
	return p.UnmarshalBinary(b)
}

// UnmarshalBinary reads what AppendBinary wrote. After an error p is unchanged. It keeps no
// reference to data.
func (p *PackedSignature) UnmarshalBinary(data []byte) error {
	if len(data) < 3 {
		return errPacked
	}
	q := PackedSignature{values: int(binary.BigEndian.Uint16(data)), bits: int(data[2] & 0x7F), empty: data[2]&0x80 != 0}
	data = data[3:]
	if q.values < minhash.MinValues || q.values > minhash.MaxValues || !minhash.IsPacked(q.bits) || len(data) != 8*minhash.PackedWords(q.values, q.bits) {
		return errPacked
	}
	q.words = make([]uint64, len(data)/8)
	for i := range q.words {
		q.words[i] = binary.BigEndian.Uint64(data[8*i:])
	}
	// Bits behind the last value must be 0, so that each signature has one binary form.
	if used := q.values * q.bits % 64; used != 0 && q.words[len(q.words)-1]>>used != 0 {
		return errPacked
	}
	*p = q
	return nil
}

var errPacked = errors.New("neardup: the bytes are not a packed signature")

// WriteFingerprints writes fingerprints with their ids, and the version ([Fingerprinter.Version])
// of the Fingerprinter that made them. The file is binary and checksummed. A record takes about 9
// bytes, or 17 for 128 bits, and the id.
//
// An id is any string of at most 64 KiB. Ids need not be unique; that is up to the caller. A longer id,
// an invalid version, a failed write, and an error from the sequence are errors. After an
// error the file is incomplete, and [ReadFingerprints] will say so.
//
//	version, err := f.Version()
//	err = neardup.WriteFingerprints(file, version, index.All()) // of an index with string ids
func WriteFingerprints[F Fingerprint](w io.Writer, version string, fingerprints iter.Seq2[Entry[string, F], error]) error {
	if !format.IsVersion(version) {
		return fmt.Errorf("neardup: %s is not a version", format.Shown(version))
	}
	f := format.NewWriter(w, fingerprintKind[F](), version)
	for e, err := range fingerprints {
		if err != nil {
			return err
		}
		id := e.ID
		if len(id) > format.MaxID {
			return fmt.Errorf("neardup: id %q has %d bytes, more than %d", format.Clip(id), len(id), format.MaxID)
		}
		f.Text(id)
		lo, hi := split(e.Value)
		if width[F]() == 128 {
			f.Uint64(hi)
		}
		f.Uint64(lo)
		if f.EndRecord(); f.Err != nil {
			break
		}
	}
	return f.Close()
}

// ReadFingerprints reads a file of [WriteFingerprints] and calls add for each fingerprint, in the order of the file. add may be the
// Add of an index; where there are many, it is ten times as fast to collect them and call AddAll. If add returns an error,
// ReadFingerprints stops and returns it. An id that occurs twice is added twice.
//
// version must be the one in the file, or the error is an [ErrVersion] that says what differs. The error is an [ErrDamaged] if the
// file is damaged or cut off, if data follows its end, or if it is not such a file at all. The fingerprints before the damage have
// been added by then, and were intact. ReadFingerprints reads r to the end. It takes no more memory than a block of the file
// (1 MiB), whatever sizes the file claims.
func ReadFingerprints[F Fingerprint](r io.Reader, version string, add func(id string, fp F) error) error {
	f, err := format.NewReader(r, fingerprintKind[F](), version, fingerprintAgain)
	if err != nil {
		return err
	}
	for f.Next() {
		id := f.Text()
		var hi uint64
		if width[F]() == 128 {
			hi = f.Uint64()
		}
		lo := f.Uint64()
		if f.Err != nil {
			break
		}
		if err := add(id, fromWords[F](lo, hi)); err != nil {
			return err
		}
	}
	return f.Err
}

// fingerprintKind returns the kind that the file names in its head: it differs by width.
func fingerprintKind[F Fingerprint]() string { return fmt.Sprintf("fingerprints%d", width[F]()) }
