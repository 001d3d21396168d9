<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Log\LoggerInterface;
use Sandlot\Exception\ConnectionException;
use Sandlot\Exception\Refusal;
use Sandlot\Exception\SandlotException;

/**
 * Sends a request until it is answered, as often as that is safe and as long as there is time.
 *
 * @internal
 */
final class Sender
{
    public function __construct(
        private readonly ClientInterface $http,
        private readonly RetryPolicy $retries,
        private readonly LoggerInterface $logger,
    ) {
    }

    /**
     * The answer when it is a good one; its body may still be on the way.
     *
     * @throws SandlotException
     */
    public function send(RequestInterface $request, Timeouts $timeouts, Repeat $repeat): ResponseInterface
    {
        $began = self::now();
        for ($attempt = 1;; $attempt++) {
            try {
                return $this->attempt($request, $timeouts, $repeat, $attempt);
            } catch (SandlotException $failure) {
                $wait = $this->retries->wait($failure, $attempt, $repeat);
                $body = $request->getBody();
                $mayAgain = $wait !== null && self::now() + $wait < $began + $this->retries->within
                    && ($body->isSeekable() || $body->tell() === 0);
                if (!$mayAgain) {
                    throw $failure;
                }
                $this->logger->notice('{method} {path} is made again in {wait} s: {why}', [
                    ...self::contextOf($request, $attempt),
                    'wait' => round($wait, 2),
                    'why' => $failure->getMessage(),
                ]);
                usleep((int) ($wait * 1e6));
                if ($body->isSeekable()) {
                    $body->rewind();
                }
            }
        }
    }

    private function attempt(
        RequestInterface $request,
        Timeouts $timeouts,
        Repeat $repeat,
        int $attempt,
    ): ResponseInterface {
        $began = self::now();
        $response = $this->exchange($request, $timeouts, $repeat);
        $this->logger->debug('{method} {path} answered {status} in {ms} ms', [
            ...self::contextOf($request, $attempt),
            'status' => $response->getStatusCode(),
            'ms' => round((self::now() - $began) * 1000, 1),
            'request_id' => $response->getHeaderLine('X-Request-Id'),
        ]);
        if ($response->getStatusCode() >= 300) {
            throw Refusal::of($response);
        }
        return $response;
    }

    private function exchange(RequestInterface $request, Timeouts $timeouts, Repeat $repeat): ResponseInterface
    {
        try {
            return $this->http instanceof TimedClient
                ? $this->http->sendWithin($request, $timeouts, $repeat !== Repeat::Safe)
                : $this->http->sendRequest($request);
        } catch (ConnectionException $failure) {
            throw $failure;
        } catch (ClientExceptionInterface $failure) {
            // How far it came is the other client's knowledge. Guzzle's RequestException means a broken connection too.
            throw $failure instanceof \LogicException
                ? $failure
                : new ConnectionException($failure->getMessage(), $request, wasSent: true, previous: $failure);
        }
    }

    /** @return array<string, mixed> nothing of what is secret: no headers, no query, no body */
    private static function contextOf(RequestInterface $request, int $attempt): array
    {
        return [
            'method' => $request->getMethod(),
            'host' => $request->getUri()->getHost(),
            'path' => $request->getUri()->getPath(),
            'attempt' => $attempt,
        ];
    }

    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }
}
