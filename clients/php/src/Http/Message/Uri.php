<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http\Message;

use Psr\Http\Message\UriInterface;

/** @internal */
final class Uri implements UriInterface
{
    private const PORTS = ['http' => 80, 'https' => 443];

    private function __construct(
        private string $scheme,
        private string $userInfo,
        private string $host,
        private ?int $port,
        private string $path,
        private string $query,
        private string $fragment,
    ) {
    }

    public static function parse(string $text): self
    {
        $parts = parse_url($text);
        if ($parts === false) {
            throw new \InvalidArgumentException("“{$text}” is no address.");
        }
        return new self(
            strtolower($parts['scheme'] ?? ''),
            ($parts['user'] ?? '') . (isset($parts['pass']) ? ":{$parts['pass']}" : ''),
            strtolower($parts['host'] ?? ''),
            $parts['port'] ?? null,
            $parts['path'] ?? '',
            $parts['query'] ?? '',
            $parts['fragment'] ?? '',
        );
    }

    public function getScheme(): string
    {
        return $this->scheme;
    }

    public function getAuthority(): string
    {
        $port = $this->getPort();
        return ($this->userInfo === '' ? '' : "{$this->userInfo}@") . $this->host . ($port === null ? '' : ":{$port}");
    }

    public function getUserInfo(): string
    {
        return $this->userInfo;
    }

    public function getHost(): string
    {
        return $this->host;
    }

    public function getPort(): ?int
    {
        return $this->port === (self::PORTS[$this->scheme] ?? null) ? null : $this->port;
    }

    public function getPath(): string
    {
        return $this->path;
    }

    public function getQuery(): string
    {
        return $this->query;
    }

    public function getFragment(): string
    {
        return $this->fragment;
    }

    public function withScheme($scheme): static
    {
        return $this->with('scheme', strtolower($scheme));
    }

    public function withUserInfo($user, $password = null): static
    {
        return $this->with('userInfo', $user . ($password === null ? '' : ":{$password}"));
    }

    public function withHost($host): static
    {
        return $this->with('host', strtolower($host));
    }

    public function withPort($port): static
    {
        return $this->with('port', $port);
    }

    public function withPath($path): static
    {
        return $this->with('path', $path);
    }

    public function withQuery($query): static
    {
        return $this->with('query', $query);
    }

    public function withFragment($fragment): static
    {
        return $this->with('fragment', $fragment);
    }

    public function __toString(): string
    {
        $authority = $this->getAuthority();
        return ($this->scheme === '' ? '' : "{$this->scheme}:")
            . ($authority === '' ? '' : "//{$authority}")
            . $this->path
            . ($this->query === '' ? '' : "?{$this->query}")
            . ($this->fragment === '' ? '' : "#{$this->fragment}");
    }

    private function with(string $part, string|int|null $value): static
    {
        $copy = clone $this;
        $copy->{$part} = $value;
        return $copy;
    }
}
