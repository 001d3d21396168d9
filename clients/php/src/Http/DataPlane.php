<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamInterface;
use Sandlot\Exception\AgentException;
use Sandlot\Exception\ApiException;
use Sandlot\Model\Fields;

/** Calls of one sandbox's own address, with a token that is renewed by itself. */
final class DataPlane
{
    /** Seconds between signs of life of a stream; without any for the idle time it counts as cut. */
    private const KEEPALIVE = 15;

    public function __construct(
        private readonly Requests $requests,
        private readonly Sender $sender,
        private readonly Sender $streams,
        private readonly Access $access,
        private readonly Timeouts $timeouts,
    ) {
    }

    /**
     * An address that needs no token and opens this one file to whoever has it.
     *
     * @param string $operation read or write
     */
    public function link(string $operation, string $path, ?string $user, int $seconds): string
    {
        $session = $this->access->session();
        $end = time() + $seconds;
        $signed = "{$path}:{$operation}:{$user}:{$session->accessToken}:{$end}";
        $query = array_filter([
            'path' => $path,
            'username' => $user,
            'signature' => 'v1_' . rtrim(base64_encode(hash('sha256', $signed, true)), '='),
            'signature_expiration' => $end,
        ], static fn (mixed $value): bool => $value !== null);
        $url = rtrim($session->dataPlaneUrl, '/');
        return "{$url}/files?" . http_build_query($query, '', '&', PHP_QUERY_RFC3986);
    }

    /**
     * A call of the Connect protocol with one answer.
     *
     * @param array<string, mixed> $message
     */
    public function call(string $method, array $message, Repeat $repeat, ?string $user = null): Fields
    {
        $headers = [
            'Content-Type' => 'application/json',
            'Connect-Protocol-Version' => '1',
            ...self::userHeader($user),
        ];
        $body = $this->requests->json((object) $message);
        $answer = $this->request('POST', "/{$method}", [], $headers, $body, $this->timeouts, $repeat);
        return Fields::ofJson($answer, $method);
    }

    /**
     * A call of the Connect protocol with a stream of answers.
     *
     * @param array<string, mixed> $message
     * @param float|null $timeout seconds that the stream may last in all
     */
    public function stream(string $method, array $message, ?string $user = null, ?float $timeout = null): EnvelopeStream
    {
        $headers = [
            'Content-Type' => 'application/connect+json',
            'Connect-Protocol-Version' => '1',
            'Keepalive-Ping-Interval' => (string) self::KEEPALIVE,
            'Connect-Timeout-Ms' => $timeout === null ? null : (string) (int) ceil($timeout * 1000),
            ...self::userHeader($user),
        ];
        $body = $this->requests->body(EnvelopeStream::pack((string) $this->requests->json((object) $message)));
        $repeat = Repeat::IfNotCarriedOut;
        $response = $this->open('POST', "/{$method}", [], $headers, $body, $this->timeouts, $repeat, $this->streams);
        return new EnvelopeStream($response->getBody(), $method);
    }

    /**
     * A plain request with JSON, which must not be made twice.
     *
     * @param array<string, mixed> $message
     */
    public function json(string $path, array $message, float $timeout): Fields
    {
        $headers = ['Content-Type' => 'application/json', 'Accept' => 'application/json'];
        $timeouts = $this->timeouts->withAnswer($timeout);
        $body = $this->requests->json((object) $message);
        $answer = $this->request('POST', $path, [], $headers, $body, $timeouts, Repeat::IfNotCarriedOut);
        return Fields::ofJson($answer, $path);
    }

    /**
     * The same answered by a stream of events.
     *
     * @param array<string, mixed> $message
     */
    public function events(string $path, array $message): EventStream
    {
        $headers = [
            'Content-Type' => 'application/json',
            'Accept' => 'text/event-stream',
            'Keepalive-Ping-Interval' => (string) self::KEEPALIVE,
        ];
        $body = $this->requests->json((object) $message);
        $repeat = Repeat::IfNotCarriedOut;
        $response = $this->open('POST', $path, [], $headers, $body, $this->timeouts, $repeat, $this->streams);
        return new EventStream($response->getBody(), $path);
    }

    /**
     * Bytes to the sandbox; what is written is the same however often that is done.
     *
     * @param array<string, string|int|bool|list<string>|null> $query
     * @param string|resource|StreamInterface $content
     */
    public function upload(string $path, array $query, mixed $content): Fields
    {
        $headers = ['Content-Type' => 'application/octet-stream', 'Accept' => 'application/json'];
        $body = $this->requests->body($content);
        $timeouts = $this->timeouts->withAnswer(null);
        $answer = $this->request('POST', $path, $query, $headers, $body, $timeouts, Repeat::Safe);
        return Fields::ofJson($answer, $path);
    }

    /**
     * Bytes from the sandbox, as they come.
     *
     * @param array<string, string|int|bool|list<string>|null> $query
     */
    public function download(string $path, array $query): StreamInterface
    {
        $headers = ['Accept-Encoding' => 'identity'];
        return $this->open('GET', $path, $query, $headers, null, $this->timeouts, Repeat::Safe)->getBody();
    }

    /**
     * @param array<string, string|int|bool|list<string>|null> $query
     * @param array<string, string|null> $headers
     */
    private function request(
        string $method,
        string $path,
        array $query,
        array $headers,
        ?StreamInterface $body,
        Timeouts $timeouts,
        Repeat $repeat,
    ): string {
        return $this->open($method, $path, $query, $headers, $body, $timeouts, $repeat)->getBody()->getContents();
    }

    /**
     * The answer, whose body may still be on the way.
     *
     * @param array<string, string|int|bool|list<string>|null> $query
     * @param array<string, string|null> $headers
     */
    private function open(
        string $method,
        string $path,
        array $query,
        array $headers,
        ?StreamInterface $body,
        Timeouts $timeouts,
        Repeat $repeat,
        ?Sender $sender = null,
    ): ResponseInterface {
        for ($isRenewed = false;; $isRenewed = true) {
            $session = $this->access->session();
            $request = $this->requests->make(
                $method,
                rtrim($session->dataPlaneUrl, '/') . $path,
                $query,
                [...$headers, 'X-Access-Token' => $session->accessToken],
                $body,
            );
            try {
                return ($sender ?? $this->sender)->send($request, $timeouts, $repeat);
            } catch (ApiException | AgentException $refusal) {
                // A token is looked at before anything is done, so this may be asked again whatever it is.
                if ($refusal->status !== 401 || $isRenewed || ($body !== null && !$body->isSeekable())) {
                    throw $refusal;
                }
                $this->access->renew();
                $body?->rewind();
            }
        }
    }

    /** @return array<string, string> */
    private static function userHeader(?string $user): array
    {
        return $user === null ? [] : ['Authorization' => 'Basic ' . base64_encode("{$user}:")];
    }
}
