// Package sluice is the client of a Sluice platform. It needs the standard library alone.
package sluice

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const firstWait = 500 * time.Millisecond

// The largest answer that is read: a speech of the longest text is smaller.
const maximumAnswerBytes = 64 << 20

// Query has the parameters behind a path's question mark; nil has none.
type Query map[string]string

// Client asks a platform with an API key. Its zero values are the defaults.
type Client struct {
	// BaseURL is the platform's address, such as https://sluice.example.com.
	BaseURL string
	APIKey  string
	// Retries are the repeats after the first attempt; 0 means 3, less than 0 none.
	Retries int
	// MaximumWait is the longest wait before a repeat; 0 means 30 s. A platform that asks for more gets none.
	MaximumWait time.Duration
	// HTTP is used instead of a client with a timeout of a minute.
	HTTP *http.Client
}

// Error is an answer that is an error. Is tells its kind: errors.Is(err, sluice.ErrNotFound).
type Error struct {
	Status int
	// Code is one of the platform's, such as not_found.
	Code    string
	Message string
	// RequestID is to be quoted when you report a fault.
	RequestID string
	// RetryAfter says when a repeat makes sense; less than 0 where the answer does not say.
	RetryAfter time.Duration
	Body       []byte
}

func (e *Error) Error() string { return e.Message }

// The kinds of errors, by status.
var (
	ErrInvalidRequest = errors.New("invalid request")
	ErrUnauthorized   = errors.New("unauthorized")
	ErrForbidden      = errors.New("forbidden")
	ErrNotFound       = errors.New("not found")
	ErrConflict       = errors.New("conflict")
	ErrLimitReached   = errors.New("limit reached")
	ErrUnavailable    = errors.New("unavailable")
)

var kinds = map[int]error{
	400: ErrInvalidRequest, 401: ErrUnauthorized, 403: ErrForbidden, 404: ErrNotFound,
	409: ErrConflict, 429: ErrLimitReached, 503: ErrUnavailable,
}

var codes = map[int]string{
	400: "invalid_request", 401: "unauthorized", 403: "forbidden", 404: "not_found",
	409: "conflict", 429: "rate_limited", 500: "internal_error", 503: "unavailable",
}

// Is says whether the error is of a kind, such as ErrNotFound.
func (e *Error) Is(target error) bool { return target != nil && kinds[e.Status] == target }

type told struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// errorOf reads the four shapes of an error's body.
func errorOf(answer *http.Response, body []byte) *Error {
	e := &Error{
		Status: answer.StatusCode, Code: codes[answer.StatusCode], Body: body,
		Message: fmt.Sprintf("the platform answers %d", answer.StatusCode), RequestID: answer.Header.Get("X-Request-Id"),
		RetryAfter: -1,
	}
	if e.Code == "" {
		e.Code = "unknown"
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var whole struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &whole) != nil {
		return e
	}
	var text string
	var nested told
	switch {
	case json.Unmarshal(whole.Error, &text) == nil && whole.Message != "":
		e.Code, e.Message = text, whole.Message
	case json.Unmarshal(whole.Error, &text) == nil:
		e.Message = text
	case json.Unmarshal(whole.Error, &nested) == nil && nested.Code != "":
		e.Code, e.Message = nested.Code, nested.Message
	}
	return e
}

type idempotencyKey struct{}

// WithIdempotencyKey gives the POST of a context a key of your own.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

func randomKey() (string, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(random[:]), nil
}

// Request asks, and repeats what may be repeated. Every POST has an idempotency key, so it is carried out once.
// The answer goes into a pointer: JSON into what it fits, and anything into a *[]byte. Nil drops it.
func (c *Client) Request(ctx context.Context, method, path string, query Query, body, into any) error {
	target := strings.TrimRight(c.BaseURL, "/") + path
	if len(query) > 0 {
		values := url.Values{}
		for name, value := range query {
			values.Set(name, value)
		}
		target += "?" + values.Encode()
	}
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	key, _ := ctx.Value(idempotencyKey{}).(string)
	if method == http.MethodPost && key == "" {
		var err error
		if key, err = randomKey(); err != nil {
			return err
		}
	}
	for attempt := 0; ; attempt++ {
		err := c.once(ctx, method, target, key, content, into)
		wait, again := c.wait(err, attempt)
		if !again || attempt >= c.retries() {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

func (c *Client) once(ctx context.Context, method, target, key string, content []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.APIKey)
	request.Header.Set("User-Agent", "sluice-go/"+Version)
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		request.Header.Set("Idempotency-Key", key)
	}
	client := c.HTTP
	if client == nil {
		client = defaultHTTP
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maximumAnswerBytes))
	if err != nil {
		return err
	}
	if answer.StatusCode >= 400 {
		return errorOf(answer, text)
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = text
		return nil
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &unreadable{err}
	}
	return nil
}

var defaultHTTP = &http.Client{Timeout: time.Minute}

// unreadable is an answer of success that does not fit: what was asked is done, and is not asked again.
type unreadable struct{ error }

func (c *Client) retries() int {
	if c.Retries == 0 {
		return 3
	}
	return c.Retries
}

func (c *Client) longest() time.Duration {
	if c.MaximumWait == 0 {
		return 30 * time.Second
	}
	return c.MaximumWait
}

func (c *Client) growing(attempt int) time.Duration {
	wait := firstWait << attempt
	if wait > c.longest() || wait <= 0 {
		wait = c.longest()
	}
	more, err := rand.Int(rand.Reader, big.NewInt(int64(wait)/5+1))
	if err != nil {
		return wait
	}
	return wait + time.Duration(more.Int64())
}

// wait says how long to wait before the next attempt, and whether a repeat may help.
func (c *Client) wait(err error, attempt int) (time.Duration, bool) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return 0, false
	}
	var fit *unreadable
	if errors.As(err, &fit) {
		return 0, false
	}
	var e *Error
	if !errors.As(err, &e) {
		return c.growing(attempt), true
	}
	switch e.Status {
	case 429, 502, 503, 504:
	default:
		return 0, false
	}
	if e.RetryAfter < 0 {
		// A limit of a month does not end by waiting, and its answer names no time.
		return c.growing(attempt), e.Status != 429
	}
	return e.RetryAfter, e.RetryAfter <= c.longest()
}

// Items goes through a list with cursors, page by page.
type Items struct {
	list    func(query Query, into any) error
	query   Query
	page    []json.RawMessage
	cursor  string
	hasMore bool
	item    json.RawMessage
	err     error
}

// EveryItem begins a list. Its function asks for one page:
//
//	items := sluice.EveryItem(nil, func(query sluice.Query, into any) error { return c.EventsList(ctx, query, into) })
//	for items.Next() { … items.Scan(&event) … }
//	if err := items.Err(); err != nil { … }
func EveryItem(query Query, list func(query Query, into any) error) *Items {
	return &Items{list: list, query: query, hasMore: true}
}

// Next goes to the next item; false at the end or at an error, which Err returns.
func (i *Items) Next() bool {
	for len(i.page) == 0 {
		if !i.hasMore || i.err != nil {
			return false
		}
		query := Query{}
		for name, value := range i.query {
			query[name] = value
		}
		if i.cursor != "" {
			query["cursor"] = i.cursor
		}
		var page struct {
			Data       []json.RawMessage `json:"data"`
			Pagination struct {
				HasMore    bool   `json:"hasMore"`
				NextCursor string `json:"nextCursor"`
			} `json:"pagination"`
		}
		if i.err = i.list(query, &page); i.err != nil {
			return false
		}
		i.page, i.cursor = page.Data, page.Pagination.NextCursor
		i.hasMore = page.Pagination.HasMore && i.cursor != ""
	}
	i.item, i.page = i.page[0], i.page[1:]
	return true
}

// Scan reads the item into a pointer.
func (i *Items) Scan(into any) error { return json.Unmarshal(i.item, into) }

// Err is the error that ended the list.
func (i *Items) Err() error { return i.err }
