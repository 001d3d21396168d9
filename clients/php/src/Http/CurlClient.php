<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;
use Sandlot\Http\Message\Response;

/**
 * The client's own transport, on ext-curl. Bodies are streamed in both directions, several exchanges
 * may be under way at once, and connections are used again.
 */
final class CurlClient implements TimedClient
{
    private readonly \CurlMultiHandle $multi;

    /** Keeps the keys of TLS, so that a new connection to the same address is a quick one. */
    private readonly \CurlShareHandle $share;

    /** @var array<int, Transfer> */
    private array $transfers = [];

    /**
     * @param string|null $caFile certificates of an authority that the system does not trust
     * @param array<int, mixed> $options further options of ext-curl, such as [CURLOPT_PROXY => '…']
     */
    public function __construct(
        private readonly ?string $caFile = null,
        private readonly Timeouts $timeouts = new Timeouts(),
        private readonly array $options = [],
    ) {
        if (!extension_loaded('curl')) {
            throw new \LogicException('ext-curl is not there: install it, or pass a PSR-18 client.');
        }
        $this->multi = curl_multi_init();
        $this->share = curl_share_init();
        curl_share_setopt($this->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    }

    public function sendRequest(RequestInterface $request): ResponseInterface
    {
        return $this->sendWithin($request, $this->timeouts, $request->getMethod() === 'POST');
    }

    public function sendWithin(RequestInterface $request, Timeouts $timeouts, bool $once): ResponseInterface
    {
        $options = $this->options;
        if ($this->caFile !== null) {
            $options[CURLOPT_CAINFO] = $this->caFile;
        }
        // A request on a connection that was used before is sent again by the library when that breaks.
        $options[CURLOPT_FRESH_CONNECT] = $once;
        $options[CURLOPT_SHARE] = $this->share;
        $transfer = new Transfer($this, $request, $timeouts, $options);
        try {
            $this->transfers[spl_object_id($transfer->handle())] = $transfer;
            curl_multi_add_handle($this->multi, $transfer->handle());
            $transfer->waitForHead();
        } catch (\Throwable $failure) {
            $transfer->close();
            throw $failure;
        }
        $body = new TransferStream($transfer);
        return new Response($transfer->status(), $transfer->reason(), $transfer->headers(), $body);
    }

    /**
     * Moves what can be moved of all transfers.
     *
     * @internal
     */
    public function move(): void
    {
        curl_multi_exec($this->multi, $running);
        while ($message = curl_multi_info_read($this->multi)) {
            $transfer = $this->transfers[spl_object_id($message['handle'])] ?? null;
            $transfer?->finish($message['result']);
        }
    }

    /**
     * Sleeps until something can be moved, that long at most.
     *
     * @internal
     */
    public function sleep(float $seconds): void
    {
        $began = hrtime(true);
        // While a name is looked up there may be nothing to wait for, and it returns at once.
        if (curl_multi_select($this->multi, $seconds) <= 0 && hrtime(true) - $began < 1_000_000) {
            usleep(1000);
        }
    }

    /** @internal */
    public function forget(\CurlHandle $handle): void
    {
        if (isset($this->transfers[spl_object_id($handle)])) {
            unset($this->transfers[spl_object_id($handle)]);
            curl_multi_remove_handle($this->multi, $handle);
        }
    }
}
