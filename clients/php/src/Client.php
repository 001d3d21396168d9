<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Log\LoggerInterface;
use Psr\Log\NullLogger;
use Sandlot\Http\Api;
use Sandlot\Http\CurlClient;
use Sandlot\Http\DataPlanes;
use Sandlot\Http\Message\Factory;
use Sandlot\Http\Requests;
use Sandlot\Http\RetryPolicy;
use Sandlot\Http\Sender;
use Sandlot\Http\Timeouts;
use Sandlot\Volume\Volumes;

/** A sandlot service as one API key sees it. */
final class Client
{
    public const VERSION = '0.1.0';

    public readonly Sandboxes $sandboxes;
    public readonly Volumes $volumes;
    public readonly Checkpoints $checkpoints;
    public readonly Templates $templates;
    public readonly Keys $keys;
    public readonly Secrets $secrets;
    public readonly Account $account;

    /** For calls of the API without a method of their own. */
    public readonly Api $api;

    /**
     * @param string $url such as https://api.sandbox.example.com
     * @param string $key an API key, slk_…
     * @param ClientInterface|null $http PSR-18; it uses its own time-outs, unless it is a TimedClient
     * @param ClientInterface|null $streams for output of processes and changes of directories; a client that
     *                                      buffers a whole answer returns them only at the end
     * @param RequestFactoryInterface|null $requestFactory PSR-17
     * @param StreamFactoryInterface|null $streamFactory PSR-17
     * @param LoggerInterface|null $logger PSR-3: requests at debug, repeated ones at notice
     */
    public function __construct(
        string $url,
        #[\SensitiveParameter] string $key,
        ?ClientInterface $http = null,
        ?ClientInterface $streams = null,
        ?RequestFactoryInterface $requestFactory = null,
        ?StreamFactoryInterface $streamFactory = null,
        ?LoggerInterface $logger = null,
        Timeouts $timeouts = new Timeouts(),
        RetryPolicy $retries = new RetryPolicy(),
    ) {
        $url = self::checkedUrl($url);
        $http ??= new CurlClient(timeouts: $timeouts);
        $logger ??= new NullLogger();
        $sender = new Sender($http, $retries, $logger);
        $requests = new Requests($requestFactory ?? new Factory(), $streamFactory ?? new Factory());
        $this->api = new Api($url, $key, $requests, $sender, $timeouts);
        $planes = new DataPlanes($requests, $sender, new Sender($streams ?? $http, $retries, $logger), $timeouts);
        $this->sandboxes = new Sandboxes($this->api, $planes);
        $this->volumes = new Volumes($this->api);
        $this->checkpoints = new Checkpoints($this->api);
        $this->templates = new Templates($this->api);
        $this->keys = new Keys($this->api);
        $this->secrets = new Secrets($this->api);
        $this->account = new Account($this->api);
    }

    /** Reads SANDLOT_URL, SANDLOT_KEY and, if your system does not trust the service's certificate, SANDLOT_CA. */
    public static function fromEnvironment(?LoggerInterface $logger = null): self
    {
        $url = self::variable('SANDLOT_URL');
        $key = self::variable('SANDLOT_KEY');
        if (!$url || !$key) {
            $missing = implode(' and ', array_keys(array_filter(['SANDLOT_URL' => !$url, 'SANDLOT_KEY' => !$key])));
            throw new \LogicException("The environment lacks {$missing}.");
        }
        return new self($url, $key, new CurlClient(caFile: self::variable('SANDLOT_CA')), logger: $logger);
    }

    /** Symfony and Laravel put the variables of a file .env into $_ENV and $_SERVER only. */
    private static function variable(string $name): ?string
    {
        $value = getenv($name) ?: $_ENV[$name] ?? $_SERVER[$name] ?? null;
        return is_string($value) && $value !== '' ? $value : null;
    }

    /** A key goes over TLS, or does not leave the machine. */
    private static function checkedUrl(string $url): string
    {
        $parts = parse_url($url);
        $host = $parts['host'] ?? '';
        $isHere = $host === '127.0.0.1' || $host === '[::1]' || preg_match('/(^|\.)localhost$/', $host);
        $scheme = $parts['scheme'] ?? '';
        if ($host === '' || ($scheme !== 'https' && !($scheme === 'http' && $isHere))) {
            throw new \InvalidArgumentException("“{$url}” is no https address.");
        }
        return rtrim($url, '/');
    }
}
