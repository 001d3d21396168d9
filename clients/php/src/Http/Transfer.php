<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Message\RequestInterface;
use Sandlot\Exception\ConnectionException;
use Sandlot\Exception\TimeoutException;

/**
 * One exchange on ext-curl: it is moved on when somebody waits for a piece of it.
 *
 * @internal
 */
final class Transfer
{
    /** What is held of a body that nobody reads; then the other side has to wait. */
    private const BUFFER_MAX = 1 << 20;

    /** Bodies up to here are sent as one string. */
    private const STRING_MAX = 1 << 20;

    // What the library's callbacks return; ext-curl has no names for all of them.
    private const PAUSE = 0x10000001;
    private const ABORT = 0x10000000;

    private ?\CurlHandle $handle;
    private int $status = 0;
    private string $reason = '';
    /** @var array<string, list<string>> */
    private array $headers = [];
    private bool $headIsThere = false;
    private string $buffer = '';
    /** Bytes at the beginning of the buffer that were read. */
    private int $taken = 0;
    private bool $paused = false;
    private ?int $result = null;
    private ?\Throwable $bodyFailure = null;
    private float $lastMoved;

    /** @param array<int, mixed> $options */
    public function __construct(
        private readonly CurlClient $client,
        private readonly RequestInterface $request,
        private readonly Timeouts $timeouts,
        array $options,
    ) {
        $this->lastMoved = self::now();
        $this->handle = curl_init();
        curl_setopt_array($this->handle, $this->options() + $this->bodyOptions());
        curl_setopt_array($this->handle, $options);
    }

    public function handle(): \CurlHandle
    {
        return $this->handle ?? throw new \LogicException('The transfer is closed.');
    }

    public function status(): int
    {
        return $this->status;
    }

    public function reason(): string
    {
        return $this->reason;
    }

    /** @return array<string, list<string>> */
    public function headers(): array
    {
        return $this->headers;
    }

    public function waitForHead(): void
    {
        $end = $this->timeouts->answer === null ? null : self::now() + $this->timeouts->answer;
        $this->wait(fn (): bool => $this->headIsThere, $end);
    }

    /** The next piece of the body, '' at its end. */
    public function read(int $length): string
    {
        if ($this->held() === 0) {
            $this->resume();
            $this->lastMoved = self::now();
            $this->wait(fn (): bool => $this->held() > 0, null);
        }
        $piece = substr($this->buffer, $this->taken, $length);
        $this->taken += strlen($piece);
        if ($this->held() === 0) {
            [$this->buffer, $this->taken] = ['', 0];
        }
        return $piece;
    }

    public function isAtEnd(): bool
    {
        return $this->held() === 0 && $this->result === CURLE_OK;
    }

    public function finish(int $result): void
    {
        $this->result = $result;
    }

    /** An exchange that has not ended is broken off. */
    public function close(): void
    {
        if ($this->handle !== null) {
            $this->client->forget($this->handle);
            $this->handle = null;
        }
    }

    /** @param callable(): bool $isDone */
    private function wait(callable $isDone, ?float $end): void
    {
        while (true) {
            if ($isDone() || ($this->result === CURLE_OK && $this->headIsThere)) {
                return;
            }
            if ($this->handle === null) {
                throw new \LogicException('The body was closed.');
            }
            $this->client->move();
            if ($isDone()) {
                return;
            }
            $this->check();
            if ($this->result === null) {
                $this->client->sleep(min(1.0, $this->left($end)));
            }
        }
    }

    private function check(): void
    {
        if ($this->bodyFailure !== null) {
            throw $this->bodyFailure;
        }
        if ($this->result === null || ($this->result === CURLE_OK && $this->headIsThere)) {
            return;
        }
        $why = curl_error($this->handle()) ?: curl_strerror($this->result) ?? 'no answer';
        $wasSent = curl_getinfo($this->handle(), CURLINFO_REQUEST_SIZE) > 0;
        throw new ConnectionException("{$this->place()} was not reached: {$why}.", $this->request, $wasSent);
    }

    /** Seconds that may still be waited. */
    private function left(?float $end): float
    {
        $left = $end ?? $this->lastMoved + $this->timeouts->idle;
        $left -= self::now();
        if ($left <= 0) {
            $what = $this->headIsThere ? 'stopped in the middle of its answer' : 'did not answer in time';
            $wasSent = curl_getinfo($this->handle(), CURLINFO_REQUEST_SIZE) > 0;
            throw new TimeoutException("{$this->place()} {$what}.", $this->request, $wasSent);
        }
        return $left;
    }

    private function held(): int
    {
        return strlen($this->buffer) - $this->taken;
    }

    private function resume(): void
    {
        if ($this->paused && $this->handle !== null) {
            $this->paused = false;
            curl_pause($this->handle, CURLPAUSE_CONT);
        }
    }

    /** @return array<int, mixed> */
    private function options(): array
    {
        $headers = ['Expect:'];
        foreach ($this->request->getHeaders() as $name => $values) {
            foreach ($values as $value) {
                $headers[] = $value === '' ? "{$name};" : "{$name}: {$value}";
            }
        }
        $host = $this->request->getUri()->getHost();
        return [
            CURLOPT_URL => (string) $this->request->getUri(),
            CURLOPT_CUSTOMREQUEST => $this->request->getMethod(),
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTPS | CURLPROTO_HTTP,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_SUPPRESS_CONNECT_HEADERS => true,
            CURLOPT_TCP_KEEPALIVE => 1,
            CURLOPT_NOSIGNAL => true,
            CURLOPT_CONNECTTIMEOUT_MS => max(1, (int) ($this->timeouts->connect * 1000)),
            // Names below localhost are this machine, whatever the resolver says.
            CURLOPT_CONNECT_TO => preg_match('/(^|\.)localhost$/', $host) ? ['::127.0.0.1:'] : [],
            CURLOPT_HEADERFUNCTION => fn (\CurlHandle $handle, string $line): int => $this->takeHeader($line),
            CURLOPT_WRITEFUNCTION => fn (\CurlHandle $handle, string $data): int => $this->takeBody($data),
        ];
    }

    /** @return array<int, mixed> */
    private function bodyOptions(): array
    {
        $body = $this->request->getBody();
        if ($body->isSeekable()) {
            $body->rewind();
        }
        $size = $body->getSize();
        if ($this->request->getMethod() === 'HEAD') {
            return [CURLOPT_NOBODY => true];
        }
        if ($size === 0) {
            return in_array($this->request->getMethod(), ['GET', 'DELETE'], true) ? [] : [CURLOPT_POSTFIELDS => ''];
        }
        if ($size !== null && $size <= self::STRING_MAX) {
            return [CURLOPT_POSTFIELDS => (string) $body];
        }
        $options = [
            CURLOPT_UPLOAD => true,
            CURLOPT_READFUNCTION => fn (\CurlHandle $handle, mixed $file, int $length): string|int
                => $this->giveBody($length),
        ];
        return $size === null ? $options : $options + [CURLOPT_INFILESIZE => $size];
    }

    private function takeHeader(string $line): int
    {
        $text = rtrim($line, "\r\n");
        if (preg_match('#^HTTP/\S+ (\d{3}) ?(.*)$#', $text, $found)) {
            [$this->status, $this->reason, $this->headers] = [(int) $found[1], $found[2], []];
        } elseif ($text === '') {
            $this->headIsThere = $this->status >= 200;
        } elseif (!$this->headIsThere && str_contains($text, ':')) {
            [$name, $value] = explode(':', $text, 2);
            $this->headers[$name][] = trim($value);
        }
        $this->lastMoved = self::now();
        return strlen($line);
    }

    private function takeBody(string $data): int
    {
        if ($this->held() >= self::BUFFER_MAX) {
            $this->paused = true;
            return self::PAUSE;
        }
        if ($this->taken >= self::BUFFER_MAX) {
            [$this->buffer, $this->taken] = [substr($this->buffer, $this->taken), 0];
        }
        $this->buffer .= $data;
        $this->lastMoved = self::now();
        return strlen($data);
    }

    private function giveBody(int $length): string|int
    {
        try {
            $this->lastMoved = self::now();
            return $this->request->getBody()->read($length);
        } catch (\Throwable $failure) {
            $this->bodyFailure = $failure;
            return self::ABORT;
        }
    }

    private function place(): string
    {
        $uri = $this->request->getUri();
        return "{$this->request->getMethod()} {$uri->getScheme()}://{$uri->getAuthority()}{$uri->getPath()}";
    }

    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }
}
