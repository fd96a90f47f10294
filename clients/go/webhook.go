package sluice

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrSignatureInvalid says that a delivery is not from the platform, or is too old.
var ErrSignatureInvalid = errors.New("the delivery's signature is not valid")

const defaultTolerance = 5 * time.Minute

// Event is an event as it is delivered.
type Event struct {
	EventID  string          `json:"eventId"`
	Type     string          `json:"type"`
	Service  string          `json:"service"`
	Data     json.RawMessage `json:"data"`
	Livemode bool            `json:"livemode"`
	// CreatedAt is in milliseconds since the Unix epoch.
	CreatedAt int64 `json:"createdAt"`
}

// VerifyOptions change how a delivery is checked. Zero values are the defaults.
type VerifyOptions struct {
	// Tolerance is how far the delivery's time may be from now; 0 means five minutes.
	Tolerance time.Duration
	// Now is the present; the clock's where it is zero.
	Now time.Time
}

type signed struct {
	time, prefix string
	signatures   [][]byte
	keyOf        func(secret string) []byte
}

// signedBy reads the platform's own header, else those of Standard Webhooks.
func signedBy(headers http.Header) (signed, bool) {
	if own := headers.Get("X-PlatformWebhook-Signature"); own != "" {
		s := signed{keyOf: func(secret string) []byte { return []byte(secret) }}
		for _, part := range strings.Split(own, ",") {
			name, value, _ := strings.Cut(part, "=")
			if name == "t" && s.time == "" {
				s.time = value
			} else if digest, err := hex.DecodeString(value); name == "v1" && err == nil {
				s.signatures = append(s.signatures, digest)
			}
		}
		s.prefix = s.time + "."
		return s, true
	}
	id, at, given := headers.Get("webhook-id"), headers.Get("webhook-timestamp"), headers.Get("webhook-signature")
	if id == "" || at == "" || given == "" {
		return signed{}, false
	}
	s := signed{time: at, prefix: id + "." + at + ".", keyOf: func(secret string) []byte {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return nil
		}
		return key
	}}
	for _, one := range strings.Split(given, " ") {
		if !strings.HasPrefix(one, "v1,") {
			continue
		}
		if digest, err := base64.StdEncoding.DecodeString(one[len("v1,"):]); err == nil {
			s.signatures = append(s.signatures, digest)
		}
	}
	return s, true
}

// VerifyWebhook returns the event of a delivery. The body is exactly what was received; during a rotation there are
// two secrets. It fails with ErrSignatureInvalid.
func VerifyWebhook(headers http.Header, body []byte, secrets []string, options VerifyOptions) (Event, error) {
	var event Event
	s, ok := signedBy(headers)
	if !ok {
		return event, ErrSignatureInvalid
	}
	at, err := strconv.ParseUint(s.time, 10, 40)
	if err != nil {
		return event, ErrSignatureInvalid
	}
	now, tolerance := options.Now, options.Tolerance
	if now.IsZero() {
		now = time.Now()
	}
	if tolerance == 0 {
		tolerance = defaultTolerance
	}
	if distance := now.Sub(time.Unix(int64(at), 0)); distance > tolerance || distance < -tolerance {
		return event, ErrSignatureInvalid
	}
	for _, secret := range secrets {
		key := s.keyOf(secret)
		if len(key) == 0 {
			continue
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(s.prefix))
		mac.Write(body)
		digest := mac.Sum(nil)
		for _, signature := range s.signatures {
			if hmac.Equal(digest, signature) {
				err := json.Unmarshal(body, &event)
				return event, err
			}
		}
	}
	return event, ErrSignatureInvalid
}
